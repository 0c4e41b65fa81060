// SPDX-License-Identifier: Apache-2.0
#include "whatif/replay.h"

namespace synctrace {
ReplayState initial_state(const ReplayProgram& program) {
  ReplayState state;
  for (const Nanoseconds begin_ns : program.thread_begins) state.host.push_back(everywhere(begin_ns));
  const Lanes never = everywhere(kNeverNs);
  state.owed.assign(program.thread_begins.size(), never);
  state.stream_end.assign(program.streams.size(), never);
  state.stream_wait.assign(program.streams.size(), never);
  state.device_end.assign(program.devices, never);
  state.slots.assign(program.slots, never);
  state.read_now.assign(program.sites.size(), never);
  state.read_due.assign(program.sites.size(), never);
  state.latest = never;
  return state;
}

}  // namespace synctrace
