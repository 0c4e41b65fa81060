// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the simulated CUPTI share: the link to the runtime, the tool's clock, and
// small helpers. Everything is leaked on purpose: callbacks may be in flight during exit.
#pragma once

#include <cstdint>

#include "cuda_headers.h"
#include "tools_interface.h"

#define SIMGPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace synctrace::simgpu {

// The simulated runtime in this process, or null while it is not loaded. The first success
// also attaches this library to it.
const SimgpuRuntime* runtime();

// True in a forked child of an initialised process: nothing works there, nothing may block.
bool dead();

// Puts a time of CLOCK_MONOTONIC on the tool's clock: its own, if it registered one, else
// CLOCK_REALTIME, as CUPTI does by default.
std::uint64_t to_tool_clock(std::int64_t monotonic_ns);
std::uint64_t tool_clock_now();
// One of cuptiActivityFlushAll and its like is over.
void count_flush();

void use_tool_clock(CUpti_TimestampCallbackFunc clock);

// A number from the environment, or `fallback`.
std::uint64_t environment_number(const char* name, std::uint64_t fallback);

// The functions that the runtime calls (see tools_interface.h), each with its part of the state.
std::uint32_t interest_in(std::uint32_t domain, std::uint32_t cbid);
void deliver_callback(std::uint32_t domain, std::uint32_t cbid, const void* data);
int collects(std::uint32_t kind);
int breaks_graphs();
// True when the record of this API function is wanted.
bool collects_api(std::uint32_t domain, std::uint32_t cbid);
void* begin_record(const SimgpuActivity* activity);
void complete_record(void* token, std::int64_t start_ns, std::int64_t end_ns);

}  // namespace synctrace::simgpu
