// SPDX-License-Identifier: Apache-2.0
// What a slice of the timeline shows, as one number, and that number as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "findings/report.h"
#include "model/trace.h"

namespace synctrace::page {

enum class SliceKind : std::uint8_t {
  kStep,
  kIdle,         // the number is that of the cause's row in its device's table
  kOnlyCopying,  // likewise
  kKernel,
  kCopy,
  kMemset,
  kGraph,
  kCall,
  kWait,  // a call that waited for the GPU
  kLaunch,
  kSleep,  // a blocking call of the C library
  kRange,
  // Parts of an operation that ranks do together; the number is a row of RankDrawing::names.
  kRankWait,  // waiting for another rank
  kTransfer,
  kExchange,  // not known which of both
};
std::string_view slice_kind_name(SliceKind kind) noexcept;

// What a slice shows: its kind, and a number that is unique in it.
using SliceName = std::uint64_t;
constexpr SliceName slice_name(SliceKind kind, std::uint64_t number) noexcept {
  return static_cast<std::uint64_t>(kind) << 56 | number;
}
constexpr SliceKind kind_of(SliceName name) noexcept { return static_cast<SliceKind>(name >> 56); }
constexpr std::uint64_t number_of(SliceName name) noexcept { return name & ((std::uint64_t{1} << 56) - 1); }
// Of kIdle and kOnlyCopying: the place of the device in the report, and the row in its table.
constexpr std::uint64_t cause_number(std::size_t device, std::size_t row) noexcept {
  return static_cast<std::uint64_t>(device) << 32 | row;
}

SliceName slice_name(const Operation& operation) noexcept;

// Text of the trace, not made safe for HTML.
std::string slice_text(const Trace& trace, const Report& report, SliceName name);

}  // namespace synctrace::page
