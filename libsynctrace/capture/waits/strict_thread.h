// SPDX-License-Identifier: Apache-2.0
// A thread that enters seccomp's strict mode may read, write and end; the kernel kills it at any other system call, and
// at a read of the CPU's counter. So nothing of ours happens on it from then on. That it does so is seen at the doors
// of prctl() and syscall(); who enters it by an instruction of his own is not seen.
#pragma once

#include <cstdint>

namespace synctrace::capture {

// Is this the call that enters strict mode?
bool enters_strict_mode(long number, long a, long b) noexcept;

// The calling thread, before it does: nothing is recorded of it, and no sample asks it. undo(): the kernel refused.
class StrictThread {
 public:
  StrictThread() noexcept;
  void undo() noexcept;

 private:
  bool was_inside_ = false;
  bool is_masked_ = false;
  std::uint64_t mask_before_ = 0;  // the kernel's sigset_t: 64 signals
};

}  // namespace synctrace::capture
