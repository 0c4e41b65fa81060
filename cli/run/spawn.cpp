// SPDX-License-Identifier: Apache-2.0
#include "run/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace synctrace::cli {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts)
    result.push_back(const_cast<char*>(text.c_str()));  // exec does not write to them
  result.push_back(nullptr);
  return result;
}

// Blocks the signals we wait for, so that none falls between two waits; SIGCHLD must not be ignored, or there would be
// no status to collect. The child gets everything back as we had it.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigemptyset(&held_);
    sigaddset(&held_, SIGCHLD);
    for (const int signal : kForwarded) sigaddset(&held_, signal);
    sigprocmask(SIG_BLOCK, &held_, &mask_before_);
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &standard, &child_action_before_);
  }
  ~SignalsHeld() { restore(); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

  void restore() const {
    sigaction(SIGCHLD, &child_action_before_, nullptr);
    sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  const sigset_t& held() const { return held_; }

 private:
  sigset_t held_{};
  sigset_t mask_before_{};
  struct sigaction child_action_before_ {};
};

// A signal that a process sent us alone is for the program. One that the kernel sends (Ctrl-C, a terminal that hangs
// up) goes to the whole process group, so the program has it already.
void forward(const siginfo_t& info, pid_t child) {
  if (info.si_code <= 0 && info.si_pid != child) kill(child, info.si_signo);
}

ChildEnd wait_for(pid_t child, const SignalsHeld& signals) {
  for (;;) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&signals.held(), &info);
    if (signal != SIGCHLD) {
      if (signal > 0) forward(info, child);
      continue;
    }
    int status = 0;
    if (waitpid(child, &status, WNOHANG) != child) continue;
    ChildEnd end;
    if (WIFSIGNALED(status)) {
      end.signal = WTERMSIG(status);
    } else {
      end.exit_status = WEXITSTATUS(status);
    }
    return end;
  }
}

}  // namespace

ChildEnd run_child(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  const std::vector<char*> argv = pointers(command);
  const std::vector<char*> envp = pointers(environment);
  // The write end closes by itself when exec succeeds; when it fails, errno comes through.
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return {.exec_error = errno};

  const SignalsHeld signals;
  const pid_t child = fork();
  if (child == 0) {
    signals.restore();
    execvpe(argv[0], argv.data(), envp.data());
    const int reason = errno;
    while (write(failure[1], &reason, sizeof reason) < 0 && errno == EINTR) {
    }
    _exit(127);
  }
  const int fork_error = errno;
  close(failure[1]);
  ChildEnd end;
  if (child < 0) {
    end.exec_error = fork_error;
  } else {
    int reason = 0;
    ssize_t got = 0;
    while ((got = read(failure[0], &reason, sizeof reason)) < 0 && errno == EINTR) {
    }
    end = wait_for(child, signals);
    if (got == sizeof reason) end.exec_error = reason;
  }
  close(failure[0]);
  return end;
}

void die_by(int signal) {
  prctl(PR_SET_DUMPABLE, 0);  // the limit alone would not do: a core_pattern with a pipe ignores it
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
}

}  // namespace synctrace::cli
