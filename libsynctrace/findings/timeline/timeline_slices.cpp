// SPDX-License-Identifier: Apache-2.0
#include "findings/timeline/timeline_slices.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "attribution/attribute.h"

namespace synctrace::page {
namespace {

constexpr std::size_t kNoLane = ~std::size_t{0};
// The steps come first: their key is the default one.
constexpr std::uint32_t kDevicesSection = 1;
constexpr std::uint32_t kThreadsSection = 2;

// Rows of one thread come in runs.
template <class Row>
void add_rows_of(const std::vector<Row>& rows, std::unordered_map<ThreadId, std::uint64_t>& counts) {
  ThreadId last{};
  std::uint64_t* count = nullptr;
  for (const Row& row : rows) {
    if (count == nullptr || row.thread != last) count = &counts[last = row.thread];
    ++*count;
  }
}

}  // namespace

TimelineSlices::TimelineSlices(const Trace& trace, const Attribution& attribution, const Report& report,
                               const RankDrawing* rank)
    : trace_(trace), attribution_(attribution), report_(report), rank_(rank), ranges_(nvtx_ranges(trace)) {
  for (std::size_t i = 0; i < report.devices.size(); ++i) device_places_.emplace(DeviceId{report.devices[i].id}, i);
  note_cause_rows();
  count_lanes();
}

void TimelineSlices::note_cause_rows() {
  for (std::size_t place = 0; place < report_.devices.size(); ++place) {
    std::vector<SliceName>& names = cause_names_[DeviceId{report_.devices[place].id}];
    const auto note = [&](SliceKind kind, const std::vector<IdleCause>& rows) {
      for (std::size_t row = 0; row < rows.size(); ++row) {
        for (const std::uint32_t number : rows[row].numbers) {
          if (number >= names.size()) names.resize(number + 1);
          names[number] = slice_name(kind, cause_number(place, row));
        }
      }
    };
    note(SliceKind::kIdle, report_.devices[place].causes);
    note(SliceKind::kOnlyCopying, report_.devices[place].copy_causes);
  }
}

void TimelineSlices::count_lanes() {
  std::map<Key, std::uint64_t> counts;
  if (!attribution_.steps.steps.empty()) counts[{}] = attribution_.steps.steps.size();
  for (const auto& [device, parts] : attribution_.parts) {
    counts[{kDevicesSection, number(device), 0, 0, LaneKind::kIdle}] = parts.size();
  }
  if (rank_ != nullptr) {
    for (const ExchangePart& part : rank_->parts)
      ++counts[{kDevicesSection, number(part.device), 0, 0, LaneKind::kExchange}];
  }
  Key last{};
  std::uint64_t* count = nullptr;
  for (const Operation& operation : trace_.operations) {
    const Key key = key_of(operation);
    if (count == nullptr || key != last) count = &counts[last = key];
    ++*count;
  }
  std::unordered_map<ThreadId, std::uint64_t> of_threads;
  add_rows_of(trace_.calls, of_threads);
  add_rows_of(trace_.launches, of_threads);
  for (const auto& [thread, rows] : of_threads) uses_cuda_.insert(thread);
  add_rows_of(trace_.polls, of_threads);
  add_rows_of(trace_.host_waits, of_threads);
  for (const auto& [thread, rows] : of_threads) counts[key_of(LaneKind::kThread, thread)] = rows;
  for (const NvtxRange& range : ranges_) ++counts[key_of(LaneKind::kRanges, range.thread)];
  keep_lanes(counts);
}

// What explains comes before what is plentiful: of the lanes beyond the limit those with the fewest slices go, idle
// time last.
void TimelineSlices::keep_lanes(const std::map<Key, std::uint64_t>& counts) {
  std::vector<std::pair<std::uint64_t, Key>> sorted;
  for (const auto& [key, count] : counts)
    sorted.emplace_back(key.kind <= LaneKind::kExchange ? ~std::uint64_t{0} : count, key);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  left_out_ = sorted.size() - std::min(sorted.size(), kMostLanes);
  sorted.resize(sorted.size() - left_out_);
  for (const auto& [weight, key] : sorted) index_.emplace(key, 0);
  for (auto& [key, index] : index_) {
    index = lanes_.size();
    const auto place = device_places_.find(DeviceId{key.group});
    const bool of_device = key.section == kDevicesSection && place != device_places_.end();
    lanes_.push_back({key.kind, of_device ? place->second : 0, label_of(key), counts.at(key)});
  }
}

std::string TimelineSlices::label_of(const Key& key) const {
  switch (key.kind) {
    case LaneKind::kSteps: return "steps";
    case LaneKind::kIdle: return "GPU " + std::to_string(key.group) + " idle";
    case LaneKind::kExchange: return "GPU " + std::to_string(key.group) + " with other ranks";
    case LaneKind::kStream: {
      const bool is_default = role_of(trace_, {ContextId{key.context}, StreamId{key.owner}}).legacy_default;
      return "stream " + std::to_string(key.owner) + (is_default ? " (default)" : "");
    }
    case LaneKind::kRanges: return "NVTX, " + thread_label(key.owner);
    case LaneKind::kThread: return thread_label(key.owner);
  }
  return {};
}

std::string TimelineSlices::thread_label(std::uint32_t thread) const {
  const auto name = trace_.threads.find(ThreadId{thread});
  std::string label = "thread " + std::to_string(thread);
  if (name != trace_.threads.end() && !name->second.empty()) label += " (" + name->second + ")";
  return label;
}

TimelineSlices::Key TimelineSlices::key_of(const Operation& operation) const {
  return {kDevicesSection, number(operation.device), number(operation.stream), number(operation.context),
          LaneKind::kStream};
}

TimelineSlices::Key TimelineSlices::key_of(LaneKind kind, ThreadId thread) const {
  return {kThreadsSection, uses_cuda_.contains(thread) ? 0U : 1U, number(thread), 0, kind};
}

std::size_t TimelineSlices::lane_of(const Key& key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? kNoLane : found->second;
}

void TimelineSlices::for_each(const Visit& visit) const {
  visit_steps(visit);
  visit_parts(visit);
  visit_exchanges(visit);
  visit_operations(visit);
  visit_ranges(visit);
  visit_threads(visit);
}

void TimelineSlices::visit_steps(const Visit& visit) const {
  const std::size_t lane = lane_of({});
  if (lane == kNoLane) return;
  for (const Step& step : attribution_.steps.steps) {
    visit(lane, {step.host, slice_name(SliceKind::kStep, static_cast<std::uint64_t>(number(step.kind)))});
  }
}

// Parts of one row that follow each other are one slice.
void TimelineSlices::visit_parts(const Visit& visit) const {
  for (const auto& [device, parts] : attribution_.parts) {
    const std::size_t lane = lane_of({kDevicesSection, number(device), 0, 0, LaneKind::kIdle});
    const auto names = cause_names_.find(device);
    const auto causes = attribution_.part_causes.find(device);
    if (lane == kNoLane || names == cause_names_.end() || causes == attribution_.part_causes.end()) continue;
    Slice slice;
    bool any = false;
    for (std::size_t i = 0; i < std::min(parts.size(), causes->second.size()); ++i) {
      const SliceName name = names->second.at(causes->second[i]);
      if (any && name == slice.name && parts[i].span.begin_ns == slice.span.end_ns) {
        slice.span.end_ns = parts[i].span.end_ns;
        continue;
      }
      if (any) visit(lane, slice);
      slice = {parts[i].span, name};
      any = true;
    }
    if (any) visit(lane, slice);
  }
}

void TimelineSlices::visit_exchanges(const Visit& visit) const {
  if (rank_ == nullptr) return;
  for (const ExchangePart& part : rank_->parts) {
    const std::size_t lane = lane_of({kDevicesSection, number(part.device), 0, 0, LaneKind::kExchange});
    if (lane != kNoLane) visit(lane, {part.span, slice_name(part.kind, part.name)});
  }
}

void TimelineSlices::visit_operations(const Visit& visit) const {
  Key last{};
  std::size_t lane = kNoLane;
  for (const Operation& operation : trace_.operations) {
    const Key key = key_of(operation);
    if (key != last) lane = lane_of(last = key);
    if (lane != kNoLane) visit(lane, {operation.span, slice_name(operation)});
  }
}

void TimelineSlices::visit_ranges(const Visit& visit) const {
  for (const NvtxRange& range : ranges_) {
    const std::size_t lane = lane_of(key_of(LaneKind::kRanges, range.thread));
    if (lane != kNoLane) visit(lane, {range.span, slice_name(SliceKind::kRange, number(range.text))});
  }
}

SliceName TimelineSlices::name_of(const Call& call) const {
  const auto row = static_cast<std::size_t>(&call - trace_.calls.data());
  const bool waited = row < attribution_.judgements.size() && attribution_.judgements[row].verdict == Verdict::kBlocked;
  return slice_name(waited ? SliceKind::kWait : SliceKind::kCall, number(call.api));
}

// Four tables, each sorted by begin, in the order of their begins.
void TimelineSlices::visit_threads(const Visit& visit) const {
  std::unordered_map<ThreadId, std::size_t> lanes;
  const auto show = [&](ThreadId thread, TimeSpan span, SliceName name) {
    const auto [entry, is_new] = lanes.try_emplace(thread, kNoLane);
    if (is_new) entry->second = lane_of(key_of(LaneKind::kThread, thread));
    if (entry->second != kNoLane) visit(entry->second, {span, name});
  };
  std::size_t call = 0, poll = 0, wait = 0;
  const auto catch_up = [&](Nanoseconds t) {
    for (;;) {
      const Nanoseconds next_call = call < trace_.calls.size() ? trace_.calls[call].span.begin_ns : kLatestTime + 1;
      const Nanoseconds next_poll = poll < trace_.polls.size() ? trace_.polls[poll].span.begin_ns : kLatestTime + 1;
      const Nanoseconds next_wait =
          wait < trace_.host_waits.size() ? trace_.host_waits[wait].span.begin_ns : kLatestTime + 1;
      const Nanoseconds first = std::min({next_call, next_poll, next_wait});
      if (first > t || first > kLatestTime) return;
      if (first == next_call) {
        const Call& row = trace_.calls[call++];
        show(row.thread, row.span, name_of(row));
      } else if (first == next_poll) {
        const Poll& row = trace_.polls[poll++];
        show(row.thread, row.span, slice_name(SliceKind::kCall, number(row.api)));
      } else {
        const HostWait& row = trace_.host_waits[wait++];
        show(row.thread, row.span, slice_name(SliceKind::kSleep, static_cast<std::uint64_t>(number(row.call))));
      }
    }
  };
  for (const Launch& launch : trace_.launches) {
    catch_up(launch.span.begin_ns);
    show(launch.thread, launch.span, slice_name(SliceKind::kLaunch, number(launch.api)));
  }
  catch_up(kLatestTime);
}

}  // namespace synctrace::page
