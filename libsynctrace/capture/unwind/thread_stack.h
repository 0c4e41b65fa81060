// SPDX-License-Identifier: Apache-2.0
// Where the calling thread's own stack lies, as far as it is needed. pthread_getattr_np would tell, but it allocates,
// and the question is asked inside calls of the program that may hold its allocator's lock; the kernel's list of
// mappings would, but a file would have to be opened in the midst of the program's own.
#pragma once

#include <cstdint>

namespace synctrace::capture {

struct StackBounds {
  std::uintptr_t begin = 0;  // addresses [begin, end)
  std::uintptr_t end = 0;
  bool holds(std::uintptr_t address) const noexcept { return address - begin < end - begin; }
};

// The bounds grow downwards as the stack does: what they hold has been seen to be readable up to the stack's end.
class OwnStack {
 public:
  // Finds the calling thread's stack. Its frames lie below the end; nothing is held yet but on the main thread.
  void find() noexcept;

  // Does `address` lie on the thread's stack? Asks the kernel page by page, about 0.1 us each, down from what is known.
  // Not so on other stacks: fibres, signal stacks. Async-signal-safe; errno stays as it was.
  bool reaches(std::uintptr_t address) noexcept;

  const StackBounds& bounds() const noexcept { return bounds_; }
  bool holds(std::uintptr_t address) const noexcept { return bounds_.holds(address); }

 private:
  StackBounds bounds_;
  std::uintptr_t floor_ = 0;  // below it the thread's stack does not go on
};

}  // namespace synctrace::capture
