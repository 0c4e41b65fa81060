// SPDX-License-Identifier: Apache-2.0
// All that the page has to show of a trace, as slices on lanes: steps; of each device why it was idle, what it did
// together with other ranks and the work of its streams; of each host thread its NVTX ranges, CUDA calls and sleeps.
// Nothing is copied: slices are made as they are visited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/time_span.h"
#include "findings/report/report.h"
#include "model/rank_lane.h"
#include "model/trace.h"
#include "timeline/page/slice_words.h"
#include "timeline/rows.h"

namespace synctrace {
struct Attribution;
}

namespace synctrace::page {

struct Slice {
  TimeSpan span;
  SliceName name = 0;
};

enum class LaneKind : std::uint8_t { kSteps, kIdle, kExchange, kStream, kRanges, kThread };

struct Lane {
  LaneKind kind = LaneKind::kSteps;
  std::size_t device = 0;  // for kIdle, kExchange and kStream: its place in the report
  std::string label;
  std::uint64_t slices = 0;
};

inline constexpr std::size_t kMostLanes = 64;

class TimelineSlices {
 public:
  // `attribution` with its parts; `rank`: of one rank of a job. All must outlive the object.
  TimelineSlices(const Trace& trace, const Attribution& attribution, const Report& report,
                 const RankLane* rank = nullptr);

  const std::vector<Lane>& lanes() const noexcept { return lanes_; }  // in the order in which they are shown
  std::size_t lanes_left_out() const noexcept { return left_out_; }   // beyond kMostLanes, those with the fewest slices

  // Calls visit(lane, slice) for all slices; those of one lane in the order of their begins.
  using Visit = std::function<void(std::size_t, const Slice&)>;
  void for_each(const Visit& visit) const;

 private:
  // Lanes sort as they are shown.
  struct Key {
    std::uint32_t section = 0;
    std::uint32_t group = 0;  // device, or whether the thread uses CUDA
    std::uint32_t owner = 0;  // stream's number, or thread
    std::uint32_t context = 0;
    LaneKind kind = LaneKind::kSteps;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct ExchangePart {
    DeviceId device{};
    Slice slice;
  };

  void note_cause_rows();
  void note_exchange_parts();
  void count_lanes();
  void keep_lanes(const std::map<Key, std::uint64_t>& counts);
  std::string label_of(const Key& key) const;
  std::string thread_label(std::uint32_t thread) const;
  Key key_of(const timeline::LaneKey& lane) const;
  std::size_t lane_of(const Key& key) const;

  void visit_steps(const Visit& visit) const;
  void visit_parts(const Visit& visit) const;
  void visit_exchanges(const Visit& visit) const;
  SliceName name_of(const timeline::Row& row) const;

  const Trace& trace_;
  const Attribution& attribution_;
  const Report& report_;
  const RankLane* rank_;  // null: none
  timeline::Rows rows_;
  std::unordered_set<std::uint32_t> cuda_threads_;
  std::vector<ExchangePart> exchange_parts_;                // by begin
  std::map<DeviceId, std::size_t> device_places_;           // in the report
  std::map<DeviceId, std::vector<SliceName>> cause_names_;  // by Cause::number
  std::map<Key, std::size_t> index_;
  std::vector<Lane> lanes_;
  std::size_t left_out_ = 0;
};

}  // namespace synctrace::page
