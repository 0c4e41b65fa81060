// SPDX-License-Identifier: Apache-2.0
#include "try/timed_runs.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>

#include "base/end_with_parent.h"
#include "base/parent_process.h"
#include "run/spawn.h"
#include "run/trace_manifest.h"

namespace synctrace::cli {
namespace {

constexpr std::int64_t kNsOfAMs = 1'000'000;
constexpr std::int64_t kGraceNs = 2'000 * kNsOfAMs;  // from a request to end until the program is killed
constexpr int kMostSweeps = 200;
constexpr int kMostReads = 32;  // more than a pipe holds
constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

std::vector<pid_t> our_children() {
  std::vector<pid_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    const char* end = entry->d_name + std::strlen(entry->d_name);
    int process = 0;
    const auto [stop, failed] = std::from_chars(entry->d_name, end, process);
    if (failed == std::errc() && stop == end && parent_of(process) == getpid()) children.push_back(process);
  }
  return children;
}

// Orphans become our children, so ending these brings the next ones, until there are none. `known` stay.
std::size_t end_orphans(const std::vector<pid_t>& known) {
  std::size_t count = 0;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool is_any = false;
    for (const pid_t child : our_children()) {
      if (std::find(known.begin(), known.end(), child) != known.end()) continue;
      is_any = true;
      const bool was_alive = waitpid(child, nullptr, WNOHANG) == 0;
      if (!was_alive) continue;
      count += sweep == 0 ? 1 : 0;
      kill(child, SIGKILL);
    }
    if (!is_any) break;
    const timespec moment{0, 2'000'000};
    nanosleep(&moment, nullptr);
  }
  return count;
}

class RunningProgram {
 public:
  RunningProgram(const ProgramCall& call, const sigset_t& mask, const struct sigaction& child_action) : call_(call) {
    int failure[2] = {-1, -1};
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0 || pipe2(failure, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0 ||
        pipe2(err, O_CLOEXEC | O_NONBLOCK) != 0) {
      end_.start_error = errno;
    } else {
      start({input, out[1], err[1]}, failure[1], mask, child_action);
    }
    streams_ = {out[0], err[0]};
    for (const int end : {input, out[1], err[1], failure[1]}) {
      if (end >= 0) close(end);
    }
    int reason = 0;
    while (process_ > 0 && read(failure[0], &reason, sizeof reason) < 0 && errno == EINTR) {
    }
    if (failure[0] >= 0) close(failure[0]);
    if (reason == 0) return;
    end_.start_error = reason;
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  ~RunningProgram() {
    for (const int stream : streams_) {
      if (stream >= 0) close(stream);
    }
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  bool is_running() const noexcept { return process_ > 0; }
  const ProgramEnd& end() const noexcept { return end_; }
  const std::array<int, 2>& streams() const noexcept { return streams_; }

  void check_end() {
    int status = 0;
    if (!is_running() || waitpid(process_, &status, WNOHANG) != process_) return;
    end_.wall_ns = monotonic_ns() - begin_ns_;
    end_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end_.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) drain(stream);
    process_ = -1;
  }

  // What the program has printed so far, though others may still hold its pipe and write on and on.
  void drain(std::size_t stream) {
    std::array<char, 65536> bytes;
    for (int reads = 0; reads < kMostReads && streams_[stream] >= 0; ++reads) {
      const ssize_t got = read(streams_[stream], bytes.data(), bytes.size());
      if (got > 0 && call_.take) call_.take(stream, {bytes.data(), static_cast<std::size_t>(got)});
      if (got > 0 || (got < 0 && errno == EINTR)) continue;
      if (got < 0 && errno == EAGAIN) return;
      close(streams_[stream]);
      streams_[stream] = -1;
    }
  }

  void ask_to_end(std::int64_t now_ns) {
    if (!is_running()) return;
    if (asked_ns_ == 0) {
      asked_ns_ = now_ns;
      end_.was_stopped = true;
      kill(-process_, SIGTERM);
      kill(-process_, SIGCONT);
    } else if (now_ns - asked_ns_ > kGraceNs) {
      kill(-process_, SIGKILL);
    }
  }

 private:
  void start(const std::array<int, 3>& streams, int failure, const sigset_t& mask,
             const struct sigaction& child_action) {
    const std::vector<char*> words = exec_pointers(call_.words);
    const std::vector<char*> environment = exec_pointers(call_.environment);
    const pid_t parent = getpid();
    begin_ns_ = monotonic_ns();
    process_ = fork();
    if (process_ < 0) end_.start_error = errno;
    if (process_ != 0) {
      if (process_ > 0) setpgid(process_, process_);
      return;
    }
    end_with_parent(parent);
    setpgid(0, 0);
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGPIPE, &standard, nullptr);
    sigaction(SIGXFSZ, &standard, nullptr);
    sigaction(SIGCHLD, &child_action, nullptr);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    for (int stream = 0; stream < 3; ++stream) {
      // The pipe's other end is ours alone: the program's writes wait, as it expects.
      if (stream > 0) fcntl(streams[static_cast<std::size_t>(stream)], F_SETFL, 0);
      dup2(streams[static_cast<std::size_t>(stream)], stream);
    }
    if (call_.folder.empty() || chdir(call_.folder.c_str()) == 0) execvpe(words[0], words.data(), environment.data());
    const int reason = errno;
    while (write(failure, &reason, sizeof reason) < 0 && errno == EINTR) {
    }
    _exit(127);
  }

  const ProgramCall& call_;
  ProgramEnd end_;
  std::array<int, 2> streams_ = {-1, -1};
  pid_t process_ = -1;
  std::int64_t begin_ns_ = 0;
  std::int64_t asked_ns_ = 0;
};

int wait_ms(std::int64_t until_ns) {
  if (until_ns == 0) return -1;
  const std::int64_t left_ms = (until_ns - monotonic_ns()) / kNsOfAMs + 1;
  return static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, 1'000'000'000));
}

}  // namespace

TimedRuns::TimedRuns() {
  sigemptyset(&watched_);
  for (const int signal : kEndingSignals) sigaddset(&watched_, signal);
  sigaddset(&watched_, SIGCHLD);
  sigprocmask(SIG_BLOCK, &watched_, &mask_before_);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, &child_before_);  // ignored, it would leave no status to collect
  signals_ = signalfd(-1, &watched_, SFD_CLOEXEC | SFD_NONBLOCK);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

TimedRuns::~TimedRuns() {
  take_signals();
  if (signals_ >= 0) close(signals_);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  sigaction(SIGCHLD, &child_before_, nullptr);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

void TimedRuns::take_signals() {
  signalfd_siginfo info{};
  while (signals_ >= 0 && read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo != SIGCHLD && ended_by_ == 0) ended_by_ = static_cast<int>(info.ssi_signo);
  }
}

std::vector<ProgramEnd> TimedRuns::run(std::span<const ProgramCall> calls, std::int64_t deadline_ns) {
  take_signals();
  const std::vector<pid_t> known = our_children();
  std::vector<std::unique_ptr<RunningProgram>> programs;
  for (const ProgramCall& call : calls)
    programs.push_back(std::make_unique<RunningProgram>(call, mask_before_, child_before_));
  for (;;) {
    std::vector<pollfd> watched = {{signals_, POLLIN, 0}};
    bool is_any = false;
    for (const auto& program : programs) {
      is_any = is_any || program->is_running();
      for (const int stream : program->streams()) watched.push_back({stream, POLLIN, 0});
    }
    if (!is_any) break;
    const std::int64_t now_ns = monotonic_ns();
    const bool is_over = must_end() || (deadline_ns != 0 && now_ns >= deadline_ns);
    if (is_over) {
      for (const auto& program : programs) program->ask_to_end(now_ns);
    }
    poll(watched.data(), watched.size(), is_over ? 50 : wait_ms(deadline_ns));
    take_signals();
    for (const auto& program : programs) {
      program->check_end();
      for (std::size_t stream = 0; stream < 2; ++stream) program->drain(stream);
    }
  }
  const std::size_t left_behind = end_orphans(known);
  std::vector<ProgramEnd> ends;
  for (const auto& program : programs) ends.push_back(program->end());
  if (!ends.empty()) ends.front().left_behind = left_behind;
  return ends;
}

}  // namespace synctrace::cli
