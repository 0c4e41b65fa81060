// SPDX-License-Identifier: Apache-2.0
// Interposed: sigaltstack(), so that the program sees its own alternate stacks and none of the recorder's. Compiled
// into the library alone, not into tests.
#include <csignal>

#include "capture/stacks/signal_stack.h"
#include "capture/stacks/stack_table.h"
#include "capture/waits/host_waits_bind.h"
#include "capture/waits/host_waits_versions.h"

namespace synctrace::capture {

SYNCTRACE_NEXT_KERNEL(sigaltstack, "sigaltstack", "@@", SYNCTRACE_V2_2_5, SYS_sigaltstack, int, const stack_t*,
                      stack_t*)
SYNCTRACE_DOOR(sigaltstack, "sigaltstack", "@@", SYNCTRACE_V2_2_5, int, const stack_t* wanted, stack_t* before) {
  constexpr auto call = [](const stack_t* to, stack_t* was) { return next_sigaltstack(to, was); };
  SignalStack* own = signal_stack_here();
  return own == nullptr ? call(wanted, before) : own->set(wanted, before, call);
}

void bind_signal_stack_call() noexcept { next_sigaltstack.bind(); }

}  // namespace synctrace::capture
