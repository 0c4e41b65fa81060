// SPDX-License-Identifier: Apache-2.0
// A timeline of any length in a bounded number of items. An item is a slice as it was, or a bundle: short slices in a
// row that begin in one cell of time, with their number, the time that they cover in sum and the name that most of that
// time has. So the busy time of every row is that of the recording, whatever was bundled. Some stretches are kept slice
// by slice.
//
// All rows have the same cap on their items, so that short rows stay exact and long ones give way. What is short, and
// how wide a cell is, are powers of two of each row's own: half of its items may be slices, half may be cells.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time_span.h"
#include "timeline/page/timeline_slices.h"

namespace synctrace::page {

// Slices of a lane that overlap, nested or not, lie on rows below each other.
inline constexpr std::size_t kMostRows = 8;  // in a lane; what does not fit overlaps in the last one

struct DetailRow {
  std::size_t lane = 0;
  std::uint64_t slices = 0;
  std::uint64_t items = 0;
  Nanoseconds busy_ns = 0;        // lengths of its slices, added up
  Nanoseconds exact_from_ns = 0;  // slices of this length and longer are as they were; 0: all are
  Nanoseconds cell_ns = 0;        // the others, bundled in cells of this width
  // For each item varints: begin after the last item's begin, length, name (place in TimelineDetail::names), slices -
  // 1, and where that is not 0 the time they cover. Times count from TimelineDetail::base_ns.
  std::string packed;
};

struct TimelineDetail {
  Nanoseconds base_ns = 0;
  Nanoseconds end_ns = 0;
  std::vector<DetailRow> rows;  // in the order of their lanes
  std::vector<SliceName> names;
  std::vector<TimeSpan> stretches;  // kept slice by slice, disjoint, in order
  std::uint64_t slices = 0;
  std::uint64_t items = 0;
};

// Visits the same slices each time it is called.
using ForEachSlice = std::function<void(const std::function<void(std::size_t, const Slice&)>&)>;

class DetailBuilder {
 public:
  // Goes through all slices once. `wanted`: stretches worth every slice, the most wanted first.
  DetailBuilder(TimeSpan span, std::size_t lanes, const std::vector<TimeSpan>& wanted, ForEachSlice for_each);

  std::uint64_t slices() const noexcept { return slices_; }

  // Goes through them once more. About `most_items` items; twice as many, and a few for each row, in the worst case.
  TimelineDetail build(std::size_t most_items) const;

 private:
  static constexpr std::size_t kLevels = 63;
  // How a row would be at all powers of two at once.
  struct Survey {
    std::size_t lane = 0;
    std::uint64_t slices = 0;
    Nanoseconds last_begin_ns = 0;
    std::array<std::uint64_t, kLevels + 1> longer{};  // [level]: slices of 2^level ns and longer
    std::array<std::uint64_t, kLevels + 1> cells{};   // [level]: cells of 2^level ns in which one begins
  };
  // In a row, slices below 2^exact ns are bundled in cells of 2^cell ns.
  struct Levels {
    bool bundled = false;
    std::size_t exact = 0;
    std::size_t cell = 0;
  };

  std::vector<TimeSpan> affordable_stretches(std::size_t most_items) const;
  static Levels levels_of(const Survey& row, std::uint64_t most_items);
  std::vector<Levels> levels(std::size_t most_items) const;

  TimeSpan span_;
  std::size_t lane_count_ = 0;
  std::vector<TimeSpan> wanted_;
  std::vector<std::uint64_t> in_wanted_;  // slices in each
  ForEachSlice for_each_;
  std::vector<Survey> rows_;
  std::vector<std::vector<std::size_t>> rows_of_lane_;
  std::uint64_t slices_ = 0;
};

}  // namespace synctrace::page
