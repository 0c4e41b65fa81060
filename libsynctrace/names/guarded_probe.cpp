// SPDX-License-Identifier: Apache-2.0
#include "names/guarded_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>

#include "base/end_with_parent.h"

namespace synctrace {
namespace {

using SteadyClock = std::chrono::steady_clock;

[[noreturn]] void answer(const std::function<std::string()>& probe, pid_t parent, int pipe_end) {
  end_with_parent(parent);
  setpgid(0, 0);              // so that what the probe starts can be ended with it
  prctl(PR_SET_DUMPABLE, 0);  // a crash is an answer, not worth a core dump
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
  try {
    const std::string text = probe() + '\0';  // the end mark tells an answer from a child that died while writing
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t written = write(pipe_end, text.data() + done, text.size() - done);
      if (written < 0 && errno != EINTR) break;
      done += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
    }
  } catch (const std::exception&) {
    _exit(1);
  }
  _exit(0);  // no exit handlers: those of a broken library could hang
}

}  // namespace

ProbeAnswer run_guarded(const std::function<std::string()>& probe, int limit_ms) {
  ProbeAnswer result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return result;
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) answer(probe, parent, ends[1]);
  close(ends[1]);
  const SteadyClock::time_point deadline = SteadyClock::now() + std::chrono::milliseconds(limit_ms);
  bool timed_out = false;
  for (bool open = child > 0; open;) {
    pollfd readable{ends[0], POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now());
    timed_out = poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(0, left.count()))) == 0;
    if (timed_out) break;
    std::array<char, 4096> buffer;
    const ssize_t got = read(ends[0], buffer.data(), buffer.size());
    if (got > 0) result.text.append(buffer.data(), static_cast<std::size_t>(got));
    open = got > 0 || (got < 0 && errno == EINTR);
  }
  close(ends[0]);
  if (child > 0) {
    if (kill(-child, SIGKILL) != 0) kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  const bool complete = result.text.ends_with('\0');
  if (complete) result.text.pop_back();
  result.end = complete    ? ProbeAnswer::End::kAnswered
               : timed_out ? ProbeAnswer::End::kTimedOut
                           : ProbeAnswer::End::kCrashed;
  return result;
}

}  // namespace synctrace
