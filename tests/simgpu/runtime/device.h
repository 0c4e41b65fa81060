// SPDX-License-Identifier: Apache-2.0
//
// A simulated device and its primary context. Devices are created at initialisation and live
// until the process ends; their mutable parts are guarded by the timeline's mutex.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "runtime/api_call.h"
#include "runtime/stream.h"
#include "runtime/timeline.h"

namespace synctrace::simgpu {

inline constexpr std::size_t kDeviceMemoryBytes = 150'754'820'096;  // an H200's
inline constexpr int kMultiprocessors = 132;

struct Device {
  explicit Device(int device_index);

  CUcontext context() const { return handle_cast<CUcontext>(this); }
  CUuuid uuid() const;

  const int index;
  const std::uint32_t context_id;
  std::atomic<bool> context_up{false};
  std::atomic<bool> described{false};  // the tool has its DEVICE record

  Stream legacy;
  std::unordered_set<Stream*> streams;  // created by the program, not yet destroyed
  std::uint32_t next_stream_id;
  Fence blocking_end;  // when all work ends in the legacy stream and in streams that synchronise with it
  Fence all_end;       // when all work ends
  Engine copies_in;
  Engine copies_out;
  LaunchQueue launches;
  std::size_t memory_used = 0;
  bool pool_used = false;
};

// All devices; empty before initialisation.
const std::vector<Device*>& devices();
void create_devices(int count);

// The calling thread's device: one choice per thread, device 0 at first.
int current_device_index();
Device& current_device();
// The same, or null while its context is not up: for callbacks, which must not create it.
const Device* current_device_if_up();
// Brings the current device's primary context up, once.
cudaError_t ensure_context();

// Emits the records that describe the live devices, contexts or streams to the tool.
void announce(std::uint32_t kind);

}  // namespace synctrace::simgpu
