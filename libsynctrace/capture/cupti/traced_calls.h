// SPDX-License-Identifier: Apache-2.0
// The CUDA calls that we trace: one table, one line a call. Ids are CUPTI's (stable and only appended from CUDA 11 to
// 13); ids that the CUPTI at run time does not know are skipped. Constant data, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "capture/cupti/api_params.h"
#include "format/records.h"

namespace synctrace::capture {

// When a call is traced: at both levels, or only while the timeline is recorded.
enum class Scope : std::uint8_t { kAlways, kTimeline };

// What a successful call does to our knowledge of the address space.
enum class MemoryEffect : std::uint8_t { kNone, kAddsDevice, kAddsPinned, kAddsManaged, kRemoves };

// What a successful call does to the captures of streams into graphs.
enum class CaptureEffect : std::uint8_t { kNone, kBegins, kEnds };

struct TracedCall {
  format::ApiDomain domain;
  std::uint32_t callback_id;
  format::ApiCategory category;
  Scope scope;
  MemoryEffect effect;
  bool per_thread_stream;  // a _ptsz or _ptds twin: stream 0 is the thread's own
  std::string_view cupti_name;
  CallArguments (*arguments)(const void* params) noexcept;  // null: nothing to read
  CaptureEffect capture = CaptureEffect::kNone;

  // Calls after which a stream's handle may mean another stream.
  bool ends_streams = category == format::ApiCategory::kContext ||
                      (category == format::ApiCategory::kStreamEvent && scope == Scope::kAlways);
  // Ends no streams, and changes no memory, graph, capture or window, as nearly all calls in a program's loop: one look
  // tells, where each effect would be one.
  bool is_plain = !ends_streams && effect == MemoryEffect::kNone && capture == CaptureEffect::kNone &&
                  category != format::ApiCategory::kGraph && category != format::ApiCategory::kProfiler;
};

std::span<const TracedCall> traced_calls() noexcept;

// The entry of a callback, or nullptr.
const TracedCall* find_traced_call(format::ApiDomain domain, std::uint32_t callback_id) noexcept;

// "cudaMemcpyAsync_ptsz_v7000" -> "cudaMemcpyAsync", as CUDA's documentation spells it.
std::string_view documented_name(std::string_view cupti_name) noexcept;

constexpr bool is_launch(format::ApiCategory category) noexcept {
  return category == format::ApiCategory::kLaunch || category == format::ApiCategory::kGraphLaunch ||
         category == format::ApiCategory::kHostFunction;
}

constexpr bool is_copy(format::ApiCategory category) noexcept {
  return category == format::ApiCategory::kCopy || category == format::ApiCategory::kCopyAsync;
}

}  // namespace synctrace::capture
