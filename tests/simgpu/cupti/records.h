// SPDX-License-Identifier: Apache-2.0
//
// Activity records in CUPTI's own layouts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_headers.h"
#include "tools_interface.h"

namespace synctrace::simgpu {

union AnyRecord {
  CUpti_Activity any;
  CUpti_ActivityKernel10 kernel;
  CUpti_ActivityMemcpy6 copy;
  CUpti_ActivityMemcpyPtoP4 peer_copy;
  CUpti_ActivityMemset4 fill;
  CUpti_ActivityGraphTrace2 graph;
  CUpti_ActivitySynchronization2 synchronization;
  CUpti_ActivityAPI api;
  CUpti_ActivityDevice5 device;
  CUpti_ActivityContext3 context;
  CUpti_ActivityStream stream;
  CUpti_ActivityOverhead3 overhead;
};

// The record of `activity` without its times; `thread` is the caller's id as the tool wants it.
AnyRecord make_record(const SimgpuActivity& activity, std::uint32_t thread);
// Bytes that a record of this kind takes in a buffer; 0 for a kind that is never written.
std::size_t record_bytes(std::uint32_t kind);
// Writes the times, already on the tool's clock, into a record that make_record() has made.
void set_times(std::uint8_t* record, std::uint64_t start, std::uint64_t end);

}  // namespace synctrace::simgpu
