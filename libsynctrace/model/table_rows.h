// SPDX-License-Identifier: Apache-2.0
// The way of rows from a file into the tables of a trace: first those of one chunk by themselves, then behind the rows
// that are there already, at last all in order of time.
#pragma once

#include <vector>

#include "model/trace.h"

namespace synctrace {

// The timed rows of a part of a file, in its order.
struct TableRows {
  std::vector<Call> calls;
  std::vector<Launch> launches;
  std::vector<LaunchFailure> launch_failures;
  std::vector<Poll> polls;
  std::vector<Operation> operations;
  std::vector<Overhead> overheads;
  std::vector<NvtxEvent> nvtx_events;
  std::vector<Resource> resources;
  std::vector<HostWait> host_waits;
  std::vector<Sample> samples;
  std::vector<ChildLook> child_looks;
  std::vector<Collective> collectives;
  std::vector<CollectiveLaunch> collective_launches;
  std::vector<GpuUse> gpu_uses;
};

// Both may run at once. `share_read`: how much of the file these and all rows before them are, for the room that the
// tables will need.
void append_host_rows(const TableRows& rows, double share_read, Trace& trace);  // all but the operations
void append_operations(const std::vector<Operation>& rows, double share_read, Trace& trace);

// Brings the tables into order of time; rows of one time stay in the order of the file.
void sort_rows(Trace& trace);

}  // namespace synctrace
