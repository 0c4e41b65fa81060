// SPDX-License-Identifier: Apache-2.0
#include "attribution/host_timeline.h"

#include <algorithm>

#include "base/search_from.h"

namespace synctrace {
namespace {

constexpr Nanoseconds kNoneLeft = kLatestTime + 1;

std::unordered_map<ThreadId, std::size_t> launches_by_thread(const Trace& trace) {
  std::unordered_map<ThreadId, std::size_t> counts;
  for (auto launch = trace.launches.begin(); launch != trace.launches.end();) {
    const ThreadId thread = launch->thread;
    const auto end =
        std::find_if(launch, trace.launches.end(), [&](const Launch& row) { return row.thread != thread; });
    counts[thread] += static_cast<std::size_t>(end - launch);
    launch = end;
  }
  return counts;
}

}  // namespace

HostTimeline::HostTimeline(const Trace& trace) : trace_(trace) {
  // The three tables are sorted by begin; taken together in that order, each thread's items are as well.
  std::uint32_t call = 0;
  std::uint32_t launch = 0;
  std::uint32_t wait = 0;
  std::unordered_map<ThreadId, std::size_t> launches = launches_by_thread(trace);
  std::size_t reserved = 0;
  const auto begin_of = [](const auto& table, std::uint32_t row) {
    return row < table.size() ? table[row].span.begin_ns : kNoneLeft;
  };
  for (;;) {
    const Nanoseconds call_ns = begin_of(trace.calls, call);
    const Nanoseconds launch_ns = begin_of(trace.launches, launch);
    const Nanoseconds wait_ns = begin_of(trace.host_waits, wait);
    const Nanoseconds next_ns = std::min({call_ns, launch_ns, wait_ns});
    if (next_ns == kNoneLeft) break;
    if (call_ns == next_ns) {
      const Call& row = trace.calls[call];
      add_item(row.thread, OwnerTable::kCall, call++, row.span, row.stack);
    } else if (launch_ns == next_ns) {
      const Launch& row = trace.launches[launch];
      add_item(row.thread, OwnerTable::kLaunch, launch++, row.span, row.stack);
    } else {
      const HostWait& row = trace.host_waits[wait];
      add_item(row.thread, OwnerTable::kHostWait, wait++, row.span, row.stack);
    }
    // To grow by doubling takes twice the room.
    for (; reserved < lanes_.size(); ++reserved) lanes_[reserved].items.reserve(launches[lanes_[reserved].id]);
  }
  for (std::uint32_t row = 0; row < trace.polls.size(); ++row) lane_of(trace.polls[row].thread).polls.push_back(row);
  for (std::uint32_t row = 0; row < trace.overheads.size(); ++row) {
    if (number(trace.overheads[row].thread) != 0) lane_of(trace.overheads[row].thread).overheads.push_back(row);
  }
  for (std::uint32_t row = 0; row < trace.samples.size(); ++row) {
    const Sample& sample = trace.samples[row];
    Lane& lane = lane_of(sample.thread);
    lane.samples.push_back(row);
    if (number(sample.stack) != 0) lane.stacked.push_back({sample.span.begin_ns, sample.stack});
  }
  for (Lane& lane : lanes_) {
    const auto earlier = [](const Stacked& a, const Stacked& b) { return a.time_ns < b.time_ns; };
    if (!std::is_sorted(lane.stacked.begin(), lane.stacked.end(), earlier)) {
      std::stable_sort(lane.stacked.begin(), lane.stacked.end(), earlier);
    }
  }
}

HostTimeline::Lane& HostTimeline::lane_of(ThreadId thread) {
  if (last_lane_ < lanes_.size() && lanes_[last_lane_].id == thread) return lanes_[last_lane_];
  const auto [entry, is_new] = index_.try_emplace(thread, static_cast<Index>(lanes_.size()));
  if (is_new) lanes_.emplace_back().id = thread;
  last_lane_ = entry->second;
  return lanes_[entry->second];
}

void HostTimeline::add_item(ThreadId thread, OwnerTable table, std::uint32_t row, TimeSpan span, StackId stack) {
  Lane& lane = lane_of(thread);
  if (number(stack) != 0) lane.stacked.push_back({span.begin_ns, stack});
  if (span.empty() || span.end_ns <= lane.end_ns) return;
  lane.end_ns = span.end_ns;
  lane.items.push_back(row * 4 + static_cast<std::uint32_t>(table) % 4);
}

HostTimeline::Index HostTimeline::index_of(ThreadId thread) const noexcept {
  if (last_lane_ < lanes_.size() && lanes_[last_lane_].id == thread) return last_lane_;
  const auto found = index_.find(thread);
  if (found == index_.end()) return kNoThread;
  return last_lane_ = found->second;
}

Owner HostTimeline::owner(const Lane& lane, std::size_t index) noexcept {
  static_assert(static_cast<int>(OwnerTable::kCall) < 4 && static_cast<int>(OwnerTable::kLaunch) < 4);
  const std::uint32_t packed = lane.items[index];
  const std::uint32_t table = packed % 4;
  return {packed / 4, table == 0 ? OwnerTable::kHostWait : static_cast<OwnerTable>(table)};
}

TimeSpan HostTimeline::recorded_span(Owner owner) const noexcept {
  switch (owner.table) {
    case OwnerTable::kCall: return trace_.calls[owner.row].span;
    case OwnerTable::kLaunch: return trace_.launches[owner.row].span;
    default: return trace_.host_waits[owner.row].span;
  }
}

TimeSpan HostTimeline::span(const Lane& lane, std::size_t index) const noexcept {
  TimeSpan span = recorded_span(owner(lane, index));
  if (index > 0) span.begin_ns = std::max(span.begin_ns, recorded_span(owner(lane, index - 1)).end_ns);
  return span;
}

// Begins without overlaps are in order too, because each record kept ends later than those before it.
std::size_t HostTimeline::begun_before(const Lane& lane, Nanoseconds t) const {
  return search_from(lane.items.size(), lane.cursor, [&](std::size_t i) { return span(lane, i).begin_ns < t; });
}

HostItem HostTimeline::item_before(Index thread, Nanoseconds t) const {
  const Lane& lane = lanes_[thread];
  const std::size_t count = begun_before(lane, t);
  if (count > 0) {
    const TimeSpan last = span(lane, count - 1);
    if (last.end_ns >= t) return {last, owner(lane, count - 1), false};
  }
  HostItem open;
  open.first = count == 0;
  open.span.begin_ns = count == 0 ? 0 : span(lane, count - 1).end_ns;
  open.span.end_ns = count == lane.items.size() ? kLatestTime : span(lane, count).begin_ns;
  return open;
}

std::optional<HostItem> HostTimeline::item_from(Index thread, Nanoseconds t) const {
  const Lane& lane = lanes_[thread];
  const std::size_t count = begun_before(lane, t);
  if (count == lane.items.size()) return std::nullopt;
  return HostItem{span(lane, count), owner(lane, count), false};
}

HostTimeline::Neighbours HostTimeline::neighbours(Index thread, TimeSpan span) const {
  const Lane& lane = lanes_[thread];
  const std::size_t until = search_from(lane.stacked.size(), lane.stacked_cursor,
                                        [&](std::size_t i) { return lane.stacked[i].time_ns < span.end_ns; });
  Neighbours result;
  if (until < lane.stacked.size()) result.after = lane.stacked[until].stack;
  const std::size_t before =
      search_from(until, lane.before_cursor, [&](std::size_t i) { return lane.stacked[i].time_ns <= span.begin_ns; });
  if (before > 0) result.before = lane.stacked[before - 1].stack;
  return result;
}

}  // namespace synctrace
