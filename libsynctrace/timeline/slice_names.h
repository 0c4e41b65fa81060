// SPDX-License-Identifier: Apache-2.0
// What a slice of a timeline shows, as one number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/rank_lane.h"
#include "model/trace.h"

namespace synctrace::timeline {

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
  // An operation that ranks do together, or a part of it; the number is that of exchange_number().
  kRankWait,  // waiting for another rank
  kTransfer,
  kExchange,  // all of it, or not known which of both
  kOverhead,  // CUPTI's and the driver's
};

// A kind, and a number that is unique in it.
using SliceName = std::uint64_t;
constexpr SliceName slice_name(SliceKind kind, std::uint64_t number) noexcept {
  return static_cast<std::uint64_t>(kind) << 56 | number;
}
constexpr SliceKind kind_of(SliceName name) noexcept { return static_cast<SliceKind>(name >> 56); }
constexpr std::uint64_t number_of(SliceName name) noexcept { return name & ((std::uint64_t{1} << 56) - 1); }

// For kIdle and kOnlyCopying: the place of the device in the report, and the row in its table.
constexpr std::uint64_t cause_number(std::size_t device, std::size_t row) noexcept {
  return static_cast<std::uint64_t>(device) << 32 | row;
}
// The row of RankLane::operations, and the rank that is waited for.
constexpr std::uint64_t exchange_number(std::uint32_t operation, std::uint32_t waits_for = 0) noexcept {
  return static_cast<std::uint64_t>(operation & 0xff'ffff) << 32 | waits_for;
}
// For kCopy and kMemset: the kind of the copy and both kinds of memory.
constexpr CopyKind copy_kind_of(SliceName name) noexcept { return static_cast<CopyKind>(name >> 16 & 0xff); }
constexpr MemoryKind source_of(SliceName name) noexcept { return static_cast<MemoryKind>(name >> 8 & 0xff); }
constexpr MemoryKind target_of(SliceName name) noexcept { return static_cast<MemoryKind>(name & 0xff); }

SliceName slice_name(const Operation& operation) noexcept;

// The text that all formats share: of kernels, graphs, calls and ranges. Empty: each has words of its own.
std::string slice_text(const Trace& trace, SliceName name);

}  // namespace synctrace::timeline
