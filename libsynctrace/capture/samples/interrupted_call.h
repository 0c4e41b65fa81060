// SPDX-License-Identifier: Apache-2.0
// Undoes what a sampling signal did to the system call that it ended. The kernel itself restarts most calls after a
// handler with SA_RESTART; others (poll, sleeps, timed waits: signal(7)) it ends with EINTR, which the program would
// not have seen without us. The handler finds such a call in the context that it interrupted, puts the thread back in
// front of the instruction, and the call is made again as if nothing had been. x86-64 only: on aarch64 the error takes
// the place of the first argument. docs/decisions/0014 says what is guaranteed and what is not.
#pragma once

#include <ucontext.h>

#include <csignal>
#include <cstdint>

namespace synctrace::capture {

// Whether this processor keeps enough to restart a call.
#if defined(__x86_64__)
inline constexpr bool kCallsCanBeRestarted = true;
#else
inline constexpr bool kCallsCanBeRestarted = false;
#endif

enum class InterruptedCall : std::uint8_t {
  kNone,       // no call was ended, or the kernel restarts it
  kRestarted,  // it will be made again when the handler returns
  kLeft,       // a signal of the program's own waits to be handled: the EINTR is the program's
  kUnknown,    // which call it was cannot be told, or it must not be made twice: the program sees an EINTR of ours
};

// In the handler of a signal of ours, all signals blocked. Async-signal-safe; keeps errno.
InterruptedCall repair_interrupted_call(ucontext_t& context) noexcept;

}  // namespace synctrace::capture
