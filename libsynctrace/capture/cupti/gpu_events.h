// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity buffers -> GPU-side records. CUPTI asks for buffers on any thread, the program's included, with a
// lock of its own held: there we only take one from a fixed pool or give one to the drain thread, which decodes it.
// The pool is never unmapped: CUPTI may write into a buffer until the process ends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "capture/events/trace_stream.h"

namespace synctrace::capture {

// CUPTI 13 fills one buffer per thread that issues work, so many small ones serve more threads than few large ones:
// 256 KiB hold 1,200 kernel records, 4 ms at the highest launch rate measured, and 64 threads need 16 MiB.
inline constexpr std::size_t kActivityBufferBytes = 256U << 10;

// Registers buffers and clock with CUPTI. Once, at injection, before any kind is enabled. `budget_bytes` bounds the
// pool where CUPTI can be refused a buffer. False when CUPTI refused.
[[nodiscard]] bool start_gpu_events(std::size_t budget_bytes) noexcept;

// Drain thread only: decodes the buffers that CUPTI has completed, oldest first, into `out`; with `discard` they are
// only given back. Returns the number of buffers.
std::size_t drain_gpu_events(TraceStream& out, bool discard) noexcept;

// Drain thread only: asks CUPTI for what is complete; `forced` also for records of work still running.
void flush_gpu_events(bool forced) noexcept;

// Drain thread only: adds CUPTI's and our own counts of lost records to the trace.
void report_gpu_losses(TraceStream& out) noexcept;

// GPU times are on CLOCK_MONOTONIC by CUPTI's own conversion, not shifted from wall time by us.
bool gpu_clock_is_monotonic() noexcept;

}  // namespace synctrace::capture
