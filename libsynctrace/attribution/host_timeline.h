// SPDX-License-Identifier: Apache-2.0
// The doings of each host thread, in order: CUDA calls, launches and long waits without overlaps, and the time between
// them. The outermost of nested records counts; where two overlap, the later begins when the earlier ends.
// Searches start where the last one ended, so questions in order of time cost O(1). Not for several threads at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attribution/cause.h"
#include "model/trace.h"

namespace synctrace {

// A record, or the time between two.
struct HostItem {
  TimeSpan span;
  Owner owner;         // table kNone: between records
  bool first = false;  // before the thread's first record
};

class HostTimeline {
 public:
  explicit HostTimeline(const Trace& trace);

  using Index = std::uint32_t;
  static constexpr Index kNoThread = 0xffff'ffff;

  Index index_of(ThreadId thread) const noexcept;
  Index threads() const noexcept { return static_cast<Index>(lanes_.size()); }
  ThreadId thread(Index index) const noexcept { return lanes_[index].id; }

  // The item that holds the nanosecond before t. Total for any t.
  HostItem item_before(Index thread, Nanoseconds t) const;

  // The first record that begins at t or later.
  std::optional<HostItem> item_from(Index thread, Nanoseconds t) const;

  // Between records: the rows of this thread, by begin.
  const std::vector<std::uint32_t>& polls(Index thread) const noexcept { return lanes_[thread].polls; }
  const std::vector<std::uint32_t>& samples(Index thread) const noexcept { return lanes_[thread].samples; }
  const std::vector<std::uint32_t>& overheads(Index thread) const noexcept { return lanes_[thread].overheads; }

  // Visits every record of a thread in order: visit(Owner, TimeSpan).
  template <class Visit>
  void for_each(Index thread, Visit&& visit) const {
    const Lane& lane = lanes_[thread];
    std::optional<Nanoseconds> before_ns;  // the end of the one before
    for (std::size_t i = 0; i < lane.items.size(); ++i) {
      const Owner what = owner(lane, i);
      TimeSpan span = recorded_span(what);
      if (before_ns) span.begin_ns = std::max(span.begin_ns, *before_ns);
      before_ns = span.end_ns;
      visit(what, span);
    }
  }

  // The stacks nearest to the span on its thread: of the last record or sample that ends by its begin, and of the first
  // that begins from its end on. Zero where there is none.
  struct Neighbours {
    StackId before{};
    StackId after{};
    friend bool operator==(const Neighbours&, const Neighbours&) = default;
  };
  Neighbours neighbours(Index thread, TimeSpan span) const;

 private:
  struct Stacked {
    Nanoseconds time_ns = 0;
    StackId stack{};
  };
  struct Lane {
    ThreadId id{};
    Nanoseconds end_ns = 0;            // the last record's, while building
    std::vector<std::uint32_t> items;  // row * 4 + table
    std::vector<std::uint32_t> polls;
    std::vector<std::uint32_t> samples;
    std::vector<std::uint32_t> overheads;
    std::vector<Stacked> stacked;
    mutable std::size_t cursor = 0;
    mutable std::size_t stacked_cursor = 0;
    mutable std::size_t before_cursor = 0;
  };

  Lane& lane_of(ThreadId thread);
  void add_item(ThreadId thread, OwnerTable table, std::uint32_t row, TimeSpan span, StackId stack);
  static Owner owner(const Lane& lane, std::size_t index) noexcept;
  TimeSpan recorded_span(Owner owner) const noexcept;
  TimeSpan span(const Lane& lane, std::size_t index) const noexcept;
  std::size_t begun_before(const Lane& lane, Nanoseconds t) const;

  const Trace& trace_;
  std::vector<Lane> lanes_;
  std::unordered_map<ThreadId, Index> index_;
  mutable Index last_lane_ = 0;  // looked up
};

}  // namespace synctrace
