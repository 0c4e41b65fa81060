// SPDX-License-Identifier: Apache-2.0
#include "timeline/page/timeline_slices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attribution/attribute.h"

namespace synctrace::page {
namespace {

using timeline::Table;

constexpr std::size_t kNoLane = ~std::size_t{0};
// The steps come first: their key is the default one.
constexpr std::uint32_t kDevicesSection = 1;
constexpr std::uint32_t kThreadsSection = 2;

// The lane of the page that a row lies on; nothing where the page does not show it.
std::optional<timeline::LaneKey> shown_on(const timeline::Row& row) {
  switch (row.table) {
    case Table::kExchanges:  // shown in parts
    case Table::kWindows:
    case Table::kMarks:
    case Table::kOverheads: return std::nullopt;
    case Table::kRanges: return timeline::LaneKey{timeline::LaneKind::kRanges, row.lane.owner, 0, 0};
    default: return row.lane;
  }
}
}  // namespace

TimelineSlices::TimelineSlices(const Trace& trace, const Attribution& attribution, const Report& report,
                               const RankLane* rank)
    : trace_(trace), attribution_(attribution), report_(report), rank_(rank), rows_(trace) {
  for (std::size_t i = 0; i < report.devices.size(); ++i) device_places_.emplace(DeviceId{report.devices[i].id}, i);
  note_cause_rows();
  note_exchange_parts();
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

void TimelineSlices::note_exchange_parts() {
  if (rank_ == nullptr) return;
  for (const RankExchange& exchange : rank_->exchanges) {
    timeline::for_each_part(exchange, [&](TimeSpan span, SliceName name) {
      exchange_parts_.push_back({exchange.device, {span, name}});
    });
  }
  std::stable_sort(exchange_parts_.begin(), exchange_parts_.end(), [](const ExchangePart& a, const ExchangePart& b) {
    return a.slice.span.begin_ns < b.slice.span.begin_ns;
  });
}

void TimelineSlices::count_lanes() {
  std::map<Key, std::uint64_t> counts;
  if (!attribution_.steps.steps.empty()) counts[{}] = attribution_.steps.steps.size();
  for (const auto& [device, parts] : attribution_.parts) {
    counts[{kDevicesSection, number(device), 0, 0, LaneKind::kIdle}] = parts.size();
  }
  for (const ExchangePart& part : exchange_parts_)
    ++counts[{kDevicesSection, number(part.device), 0, 0, LaneKind::kExchange}];
  timeline::LaneMap<std::uint64_t> rows;
  rows_.for_each([&](const timeline::Row& row) {
    if (const auto lane = shown_on(row)) ++rows[*lane];
    if (row.table == Table::kCalls || row.table == Table::kLaunches) cuda_threads_.insert(row.lane.owner);
  });
  for (const auto& [lane, count] : rows) counts[key_of(lane)] = count;
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

TimelineSlices::Key TimelineSlices::key_of(const timeline::LaneKey& lane) const {
  if (lane.kind == timeline::LaneKind::kStream)
    return {kDevicesSection, lane.owner, lane.stream, lane.context, LaneKind::kStream};
  const LaneKind kind = lane.kind == timeline::LaneKind::kRanges ? LaneKind::kRanges : LaneKind::kThread;
  return {kThreadsSection, cuda_threads_.contains(lane.owner) ? 0U : 1U, lane.owner, 0, kind};
}

std::size_t TimelineSlices::lane_of(const Key& key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? kNoLane : found->second;
}

void TimelineSlices::for_each(const Visit& visit) const {
  visit_steps(visit);
  visit_parts(visit);
  visit_exchanges(visit);
  timeline::LaneMap<std::optional<std::size_t>> lanes;
  rows_.for_each([&](const timeline::Row& row) {
    const auto key = shown_on(row);
    if (!key) return;
    std::optional<std::size_t>& lane = lanes[*key];
    if (!lane) lane = lane_of(key_of(*key));
    if (*lane != kNoLane) visit(*lane, {row.span, name_of(row)});
  });
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
  for (const ExchangePart& part : exchange_parts_) {
    const std::size_t lane = lane_of({kDevicesSection, number(part.device), 0, 0, LaneKind::kExchange});
    if (lane != kNoLane) visit(lane, part.slice);
  }
}

SliceName TimelineSlices::name_of(const timeline::Row& row) const {
  if (kind_of(row.name) == SliceKind::kMemset) return slice_name(SliceKind::kMemset, 0);
  const bool waited = row.table == Table::kCalls && row.index < attribution_.judgements.size() &&
                      attribution_.judgements[row.index].verdict == Verdict::kBlocked;
  return waited ? slice_name(SliceKind::kWait, number_of(row.name)) : row.name;
}

}  // namespace synctrace::page
