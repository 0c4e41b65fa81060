// SPDX-License-Identifier: Apache-2.0
// One thread of another process, stopped for some milliseconds by ptrace, and sent through one function of its process.
// It goes there as through a signal handler: the frame that the kernel would make for one lies on its stack, and when
// the function returns the kernel puts everything back, registers, signals and the interrupted call. So nothing is left
// to be done by us, and the program does not need us to live on. x86-64.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "live/target_process.h"

namespace synctrace::cli {

class StoppedThread {
 public:
  // Stops it. An object that did not stop it says why: problem().
  StoppedThread(const TargetProcess& process, int thread);
  ~StoppedThread();  // lets it go on
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  const std::string& problem() const noexcept { return problem_; }
  bool may_not() const noexcept { return may_not_; }  // the system forbids it, for every thread alike

  // Empty, or why no function must be called here: it runs, holds something that the loader or an allocator needs, or
  // waits in a call that could not go on afterwards as before.
  std::string refuse_call() const;

  // function(text, flags) runs when the thread goes on. Only where refuse_call() is empty. False: the memory could not
  // be written, and nothing was changed.
  [[nodiscard]] bool call_on_resume(std::uint64_t function, const std::string& text, std::uint64_t flags);

 private:
  bool read_registers();
  std::string stack_problem() const;
  bool is_return_address(std::uint64_t word) const;

  const TargetProcess& process_;
  int thread_;
  bool is_stopped_ = false;
  bool may_not_ = false;
  std::string problem_;
  std::string general_;   // struct user_regs_struct
  std::string extended_;  // the area of XSAVE
};

}  // namespace synctrace::cli
