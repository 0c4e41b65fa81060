// SPDX-License-Identifier: Apache-2.0
// All that happened in a trace, as rows on lanes, in one order of time: the one walk from which the page and the
// exports of timelines are made. It needs no findings. Nothing is copied: a row is made when it is visited.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "model/nvtx_ranges.h"
#include "model/rank_lane.h"
#include "model/trace.h"
#include "timeline/slice_names.h"

namespace synctrace::timeline {

enum class LaneKind : std::uint8_t { kThread, kRanges, kOverhead, kStream, kExchange };

struct LaneKey {
  LaneKind kind = LaneKind::kThread;
  std::uint32_t owner = 0;    // a thread; for kStream and kExchange a device
  std::uint32_t context = 0;  // for kStream
  std::uint32_t stream = 0;   // likewise
  friend auto operator<=>(const LaneKey&, const LaneKey&) = default;
};

enum class Table : std::uint8_t {
  kExchanges,
  kWindows,  // on no lane
  kRanges,   // a pushed one on its thread's lane, another on kRanges
  kMarks,    // without length
  kCalls,
  kLaunches,
  kPolls,
  kHostWaits,
  kOverheads,
  kOperations
};

struct Row {
  Table table = Table::kCalls;
  std::uint32_t index = 0;  // in its table
  LaneKey lane;
  TimeSpan span;
  SliceName name = 0;
};

class Rows {
 public:
  // `rank`: of a job; null: of none. Both must outlive the object.
  explicit Rows(const Trace& trace, const RankLane* rank = nullptr);

  const Trace& trace() const noexcept { return trace_; }
  const RankLane* rank() const noexcept { return rank_; }
  const std::vector<NvtxRange>& ranges() const noexcept { return ranges_; }  // Table::kRanges

  // In the order of their begins; those that begin together in the order of their tables.
  void for_each(const std::function<void(const Row&)>& visit) const;

 private:
  const Trace& trace_;
  const RankLane* rank_;
  std::vector<NvtxRange> ranges_;
};

// Something for each lane. Rows of one lane come in runs, so the last lane of each kind is at hand.
template <class Lane>
class LaneMap {
 public:
  // A new one is Lane{}.
  Lane& operator[](const LaneKey& key) {
    auto& [last, lane] = last_[static_cast<std::size_t>(key.kind)];
    if (lane != nullptr && last == key) return *lane;
    last = key;
    lane = &lanes_[key];
    return *lane;
  }
  auto begin() { return lanes_.begin(); }
  auto end() { return lanes_.end(); }

 private:
  std::map<LaneKey, Lane> lanes_;
  std::array<std::pair<LaneKey, Lane*>, 5> last_{};
};

// What an operation of several ranks consists of: the waiting for another rank, then the transfer; or all of it where
// that is not known. visit(span, name).
template <class Visit>
void for_each_part(const RankExchange& exchange, const Visit& visit) {
  const Nanoseconds came_ns = exchange.span.begin_ns + exchange.wait_ns;
  if (exchange.wait_ns > 0)
    visit(TimeSpan{exchange.span.begin_ns, came_ns},
          slice_name(SliceKind::kRankWait, exchange_number(exchange.operation, exchange.waits_for)));
  if (came_ns < exchange.span.end_ns)
    visit(TimeSpan{came_ns, exchange.span.end_ns},
          slice_name(exchange.is_split ? SliceKind::kTransfer : SliceKind::kExchange,
                     exchange_number(exchange.operation)));
}

}  // namespace synctrace::timeline
