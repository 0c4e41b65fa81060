// SPDX-License-Identifier: Apache-2.0
#include "run/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "base/end_with_parent.h"

namespace synctrace::cli {
namespace {

constexpr std::size_t kKernelMaskBytes = 8;  // a bit for each of 64 signals

// The kernel's own call: the C library's leaves out two signals that it uses for threads, which end a process like any.
void set_mask(const sigset_t& wanted, sigset_t* before) {
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &wanted, before, kKernelMaskBytes);
}

// Blocks every signal, so that none ends or stops us, and none falls between two waits. A fault of our own ends us all
// the same. SIGCHLD must not be ignored, or there would be no status to collect. The child gets everything back as we
// had it.
class SignalsHeld {
 public:
  SignalsHeld() {
    std::memset(&held_, 0xff, sizeof held_);
    set_mask(held_, &mask_before_);
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &standard, &child_action_before_);
  }
  ~SignalsHeld() {
    // Drops signals that came for a program that has ended.
    while (next(true) > 0) {
    }
    restore();
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

  void restore() const {
    sigaction(SIGCHLD, &child_action_before_, nullptr);
    set_mask(mask_before_, nullptr);
  }

  // The next signal, into `info`; at most zero when there is none now.
  int next(bool only_pending, siginfo_t* info = nullptr) const {
    const timespec now{};
    return static_cast<int>(
        syscall(SYS_rt_sigtimedwait, &held_, info, only_pending ? &now : nullptr, kKernelMaskBytes));
  }

 private:
  sigset_t held_{};
  sigset_t mask_before_{};
  struct sigaction child_action_before_ {};
};

// A signal that a process sent us alone is for the program. Most that the kernel sends are not: Ctrl-C, Ctrl-Z and a
// terminal that hangs up reach the whole process group, so the program has them already; what our own use of the
// processor or of a pipe brings is ours. An alarm that was set before we were executed would have been the program's.
bool is_for_child(const siginfo_t& info, pid_t child) {
  if (info.si_code <= 0) return info.si_pid != child;
  return info.si_signo == SIGALRM || info.si_signo == SIGIO;
}

void forward(siginfo_t info, pid_t child) {
  if (!is_for_child(info, child)) return;
  if (info.si_code == SI_QUEUE)
    sigqueue(child, info.si_signo, info.si_value);
  else
    kill(child, info.si_signo);
}

// The signal that has stopped the child since this was last asked; 0 when none has.
int newly_stopped_by(pid_t child) {
  siginfo_t info{};
  const bool is_told = waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOHANG) == 0;
  return is_told && info.si_pid == child ? info.si_status : 0;
}

// Whether the child was continued, stopped anew or has ended since it was last found to be stopped. What continues us
// goes to one process of our group after the other, so its turn may come a moment after ours.
bool goes_on_by_itself(pid_t child) {
  constexpr long kMomentNs = 50'000'000;
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGCHLD);
  for (bool is_over = false;;) {
    siginfo_t info{};
    constexpr int kAnyChange = WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT;
    if (waitid(P_PID, static_cast<id_t>(child), &info, kAnyChange) != 0 || info.si_pid == child) return true;
    if (is_over) return false;
    const timespec moment{0, kMomentNs};
    is_over = sigtimedwait(&only, nullptr, &moment) < 0;
  }
}

// Our parent is a shell that gives each command a process group of its own, and will see that we are stopped.
bool is_a_shells_job() {
  const pid_t parent = getppid();
  return getsid(parent) == getsid(0) && getpgid(parent) != getpgrp();
}

// Our parent must see that the program is stopped, and the terminal is its own again. Where nobody controls jobs, one
// who stops the program by its pid continues it by its pid, and would leave us stopped: then we stay. True after we
// were stopped and continued, and the program with us; a SIGCHLD may have been taken meanwhile.
bool stop_like(pid_t child) {
  const int signal = newly_stopped_by(child);
  if (signal == 0 || (signal == SIGSTOP && !is_a_shells_job())) return false;
  kill(getpid(), SIGSTOP);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGCONT);
  const timespec now{};
  sigtimedwait(&only, nullptr, &now);
  if (!goes_on_by_itself(child)) kill(child, SIGCONT);
  return true;
}

ChildEnd wait_for(pid_t child, const SignalsHeld& signals) {
  for (;;) {
    siginfo_t info{};
    const int signal = signals.next(false, &info);
    if (signal != SIGCHLD) {
      if (signal > 0) forward(info, child);
      continue;
    }
    int status = 0;
    bool has_ended = false;
    do {
      has_ended = waitpid(child, &status, WNOHANG) == child;
    } while (!has_ended && stop_like(child));
    if (!has_ended) continue;
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

std::vector<char*> exec_pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts)
    result.push_back(const_cast<char*>(text.c_str()));  // exec does not write to them
  result.push_back(nullptr);
  return result;
}

ChildEnd run_child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                   const WriteErrors& ours, const std::function<void()>& begun) {
  const std::vector<char*> argv = exec_pointers(command);
  const std::vector<char*> envp = exec_pointers(environment);
  // The write end closes by itself when exec succeeds; when it fails, errno comes through.
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return {.exec_error = errno};

  const SignalsHeld signals;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    end_with_parent(parent);
    ours.restore();
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
    if (got != sizeof reason) begun();
    end = wait_for(child, signals);
    if (got == sizeof reason) end.exec_error = reason;
  }
  close(failure[0]);
  return end;
}

WriteErrors::WriteErrors() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
  sigaction(SIGXFSZ, &ignore, &size_before_);
}

void WriteErrors::restore() const {
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  sigaction(SIGXFSZ, &size_before_, nullptr);
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
