// SPDX-License-Identifier: Apache-2.0
//
// A stream: work in order. Knows the rules of the legacy default stream and whether a graph is
// being captured. Everything here is guarded by the timeline's mutex.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/api_call.h"
#include "runtime/timeline.h"

namespace synctrace::simgpu {

struct Device;
struct Capture;
struct GraphNode;

struct Stream {
  enum class Role { legacy, per_thread, ordinary };

  // Waits for, and is waited for by, the legacy default stream.
  bool synchronises_with_legacy() const { return (flags & cudaStreamNonBlocking) == 0; }
  cudaStream_t handle() { return handle_cast<cudaStream_t>(this); }

  Device* device = nullptr;
  Role role = Role::ordinary;
  std::uint32_t id = 0;
  unsigned flags = 0;
  int priority = 0;
  Fence end;                             // when the work so far ends
  Capture* capture = nullptr;            // set while a graph is being captured here
  std::vector<GraphNode*> capture_tail;  // what the next captured node depends on
};

// The stream that `handle` names on the current device; null if there is none.
Stream* find_stream(cudaStream_t handle, DefaultStream default_stream);

// Handle that the driver side of a call sees for the stream.
inline CUstream driver_stream(cudaStream_t handle) { return handle; }

// What new work in `stream` has to wait for. The caller holds the timeline's lock.
Fence ready_after(const Stream& stream);
// Makes `end` the end of the work so far.
void advance(Stream& stream, const Fence& end);

struct Submission {
  cudaError_t error = cudaSuccess;
  bool captured = false;  // became a graph node; nothing will happen now
  Fence end;
};

// Puts `work` into the stream, or into the graph being captured on it.
Submission enqueue(Stream& stream, Work work);

// Waits for all that a synchronisation of `stream` covers.
void wait_for(Stream& stream);

// The error of a call that may not be made while `stream` is being captured; invalidates the
// capture, as CUDA does.
cudaError_t refuse_during_capture(Stream& stream);

// Tells the tool about an explicit synchronisation (CUpti_ActivitySynchronizationType).
void report_synchronization(std::uint32_t type, const Stream* stream, std::uint32_t event, Nanoseconds began,
                            cudaError_t result);

// Emits the stream's record, and the RESOURCE callback with `cbid` unless it is 0.
void report_stream(const Stream& stream, std::uint32_t cbid);

}  // namespace synctrace::simgpu
