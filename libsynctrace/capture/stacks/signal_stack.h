// SPDX-License-Identifier: Apache-2.0
// The stack on which a thread answers the sampler's signal: one of the recorder's own. The kernel would otherwise put
// the signal's frame, up to 4 KiB and more, on whatever stack the program runs on: too little may be left of that, or
// it is a fibre's; and on an alternate stack of the program's, which may be too small, or freed (decision 0036).
//
// A thread with an alternate stack of the program's is not asked. The program sees none of ours: sigaltstack() is
// interposed, so this works only where the library is preloaded.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>

#include "capture/events/thread_buffer.h"
#include "capture/unwind/native_unwind.h"

namespace synctrace::capture {

// One thread's, and called on that thread only. Zeroed memory is a valid state.
class SignalStack {
 public:
  using KernelCall = int (*)(const stack_t* wanted, stack_t* before);

  // Gives the calling thread a stack and lets it be asked, unless it has one of the program's. The walks of `unwinder`
  // may then cross it. Three system calls.
  void give(SampleSlot& slot, ThreadUnwinder& unwinder) noexcept;

  // The thread is not asked any more; its memory goes. When it ends.
  void take_back() noexcept;

  // The program's call of sigaltstack() on this thread; `call` makes it. Sets errno as that would.
  int set(const stack_t* wanted, stack_t* before, KernelCall call) noexcept;

 private:
  void withdraw() noexcept;

  SampleSlot* slot_ = nullptr;  // null: the stack is not in place
  ThreadUnwinder* unwinder_ = nullptr;
  void* memory_ = nullptr;
  long process_ = 0;        // a forked child is another, and is asked by nobody
  std::uint64_t mask_ = 0;  // the thread's, kept while a signal under way is waited for
};

// Whether threads get such stacks: set once, before the first event.
inline constinit std::atomic<bool> gives_signal_stacks{false};

}  // namespace synctrace::capture
