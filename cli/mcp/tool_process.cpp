// SPDX-License-Identifier: Apache-2.0
#include "mcp/tool_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "run/spawn.h"

namespace synctrace::cli {
namespace {

constexpr std::size_t kMostKept = 4 * kMostAnswerBytes;
constexpr std::size_t kMostTaken = 1'000;  // reads, of what a child left behind

// No colour, no annotations for a code host, and no repository above the folder that we were started in.
std::vector<std::string> environment_of_child() {
  std::vector<std::string> environment;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view one(*each);
    const auto is_name = [&](std::string_view name) { return one.starts_with(name); };
    if (!is_name("GITHUB_ACTIONS=") && !is_name("NO_COLOR=") && !is_name("GIT_CEILING_DIRECTORIES="))
      environment.emplace_back(one);
  }
  std::error_code failed;
  environment.emplace_back("NO_COLOR=1");
  environment.push_back("GIT_CEILING_DIRECTORIES=" + std::filesystem::current_path(failed).parent_path().string());
  return environment;
}

}  // namespace

bool ToolProcess::start(const std::string& executable, const std::vector<std::string>& words) {
  std::array<int, 2> out{-1, -1};
  std::array<int, 2> err{-1, -1};
  if (::pipe2(out.data(), O_CLOEXEC) != 0) return false;
  if (::pipe2(err.data(), O_CLOEXEC) != 0) {
    ::close(out[0]);
    ::close(out[1]);
    return false;
  }
  std::vector<std::string> command = {executable};
  command.insert(command.end(), words.begin(), words.end());
  std::vector<std::string> environment = environment_of_child();
  const std::vector<char*> arguments = exec_pointers(command);
  const std::vector<char*> variables = exec_pointers(environment);
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ == 0) {
    // It can put away what it made, which SIGKILL would not let it.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(127);
    ::setpgid(0, 0);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(out[1], STDOUT_FILENO) < 0 ||
        ::dup2(err[1], STDERR_FILENO) < 0)
      ::_exit(127);
    ::execve(executable.c_str(), arguments.data(), variables.data());
    ::_exit(127);
  }
  const int failed = errno;
  ::close(out[1]);
  ::close(err[1]);
  if (child_ < 0) {
    ::close(out[0]);
    ::close(err[0]);
    child_ = 0;
    errno = failed;
    return false;
  }
  ::fcntl(out[0], F_SETFL, O_NONBLOCK);
  ::fcntl(err[0], F_SETFL, O_NONBLOCK);
  // Without one (before Linux 5.3) the ends of both streams tell.
  ended_ = static_cast<int>(::syscall(SYS_pidfd_open, child_, 0));
  output_ = {out[0], {}, 0};
  messages_ = {err[0], {}, 0};
  return true;
}

ToolProcess::~ToolProcess() {
  if (!is_running()) return;
  cancel();
  finish();
}

bool ToolProcess::take(Stream& stream) {
  std::array<char, 4'096> bytes{};
  if (stream.descriptor < 0) return false;
  const ssize_t count = ::read(stream.descriptor, bytes.data(), bytes.size());
  if (count < 0 && errno == EINTR) return true;
  if (count < 0 && errno == EAGAIN) return false;
  if (count <= 0) {
    ::close(stream.descriptor);
    stream.descriptor = -1;
    return false;
  }
  const std::size_t kept = std::min(static_cast<std::size_t>(count), kMostKept - stream.kept.size());
  stream.kept.append(bytes.data(), kept);
  stream.left_out += static_cast<std::size_t>(count) - kept;
  return true;
}

void ToolProcess::cancel() const noexcept {
  if (child_ > 0) ::kill(child_, SIGTERM);
}

ToolEnd ToolProcess::finish() {
  for (Stream* stream : {&output_, &messages_}) {
    for (std::size_t left = kMostTaken; left > 0 && take(*stream); --left) {
    }
    if (stream->descriptor >= 0) ::close(stream->descriptor);
    stream->descriptor = -1;
  }
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = 0;
  if (ended_ >= 0) ::close(ended_);
  ended_ = -1;
  ToolEnd end{std::move(output_.kept), output_.left_out, std::move(messages_.kept), 0, 0};
  output_ = {};
  messages_ = {};
  if (WIFSIGNALED(status))
    end.signal = WTERMSIG(status);
  else
    end.status = WEXITSTATUS(status);
  return end;
}

}  // namespace synctrace::cli
