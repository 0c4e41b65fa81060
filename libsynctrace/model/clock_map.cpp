// SPDX-License-Identifier: Apache-2.0
#include "model/clock_map.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "base/in_background.h"
#include "model/correlate.h"
#include "model/tolerances.h"

namespace synctrace {
namespace {

constexpr Nanoseconds kBlockNs = 1'000'000'000;
constexpr Nanoseconds kShortestBlockNs = kBlockNs / 64;  // a drift that needs shorter ones is no drift
constexpr Nanoseconds kUnbounded = std::numeric_limits<Nanoseconds>::max();

// The shift of device times at this time must lie at `least` or above, or at `most` or below.
struct Edge {
  Nanoseconds time_ns = 0;
  Nanoseconds least_ns = -kUnbounded;
  Nanoseconds most_ns = kUnbounded;

  bool breaks(Nanoseconds shift_ns, Nanoseconds tolerance_ns) const noexcept {
    return (least_ns != -kUnbounded && shift_ns < least_ns - tolerance_ns) ||
           (most_ns != kUnbounded && shift_ns > most_ns + tolerance_ns);
  }
};

template <class Visit>
void for_each_launch(const Trace& trace, const Correlation& correlation, Visit&& visit) {
  for (std::uint32_t row = 0; row < trace.operations.size(); ++row) {
    const auto issuer = correlation.issuer_of(row);
    if (!issuer) continue;
    const Nanoseconds issued_ns =
        issuer->is_launch ? trace.launches[issuer->row].span.begin_ns : trace.calls[issuer->row].span.begin_ns;
    const Nanoseconds started_ns = trace.operations[row].span.begin_ns;
    visit(Edge{started_ns, issued_ns - started_ns, kUnbounded});
  }
}

// Only waits that the end of the work must have ended: those that were long, and returned about then.
template <class Visit>
void for_each_wait(const Trace& trace, const std::vector<Outstanding>& outstanding, Visit&& visit) {
  for (std::size_t row = 0; row < trace.calls.size(); ++row) {
    const Call& call = trace.calls[row];
    const Outstanding& out = outstanding[row];
    const bool explicit_wait = call.category == ApiCategory::kStreamSync || call.category == ApiCategory::kDeviceSync;
    if (!explicit_wait || !out.target_known || call.span.length_ns() < kShortestClearWaitNs) continue;
    if (out.target_end_ns <= call.span.begin_ns + kShortestClearWaitNs) continue;
    visit(Edge{out.target_end_ns, -kUnbounded, call.span.end_ns - out.target_end_ns});
  }
}

bool is_nonsense(const Edge& edge) noexcept { return edge.least_ns > kNoSkewNs || edge.most_ns < -kNoSkewNs; }

struct Knot {
  Nanoseconds time_ns = 0;
  Nanoseconds shift_ns = 0;
};

// The shift of one block of edges; halves it where the edges of the whole cannot all be met.
void add_knots(const std::vector<Edge>& edges, std::size_t first, std::size_t last, TimeSpan block,
               std::vector<Knot>& knots) {
  Nanoseconds least = -kUnbounded;
  Nanoseconds most = kUnbounded;
  for (std::size_t i = first; i < last; ++i) {
    least = std::max(least, edges[i].least_ns);
    most = std::min(most, edges[i].most_ns);
  }
  if (least > most && block.length_ns() / 2 >= kShortestBlockNs) {
    const Nanoseconds middle_ns = block.begin_ns + block.length_ns() / 2;
    std::size_t cut = first;
    while (cut < last && edges[cut].time_ns < middle_ns) ++cut;
    add_knots(edges, first, cut, {block.begin_ns, middle_ns}, knots);
    add_knots(edges, cut, last, {middle_ns, block.end_ns}, knots);
    return;
  }
  Nanoseconds shift_ns = 0;
  if (least > 0 || most < 0) {
    if (least == -kUnbounded)
      shift_ns = most;
    else
      shift_ns = most == kUnbounded ? least : least + (most - least) / 2;
  }
  if (first < last) knots.push_back({block.begin_ns + block.length_ns() / 2, shift_ns});
}

class ShiftMap {
 public:
  explicit ShiftMap(const std::vector<Edge>& edges) {
    std::size_t first = 0;
    while (first < edges.size()) {
      const Nanoseconds begin_ns = edges[first].time_ns;
      std::size_t last = first;
      while (last < edges.size() && edges[last].time_ns - begin_ns < kBlockNs) ++last;
      add_knots(edges, first, last, {begin_ns, begin_ns + kBlockNs}, knots_);
      first = last;
    }
  }

  Nanoseconds at(Nanoseconds t) const {
    const auto after = std::lower_bound(knots_.begin(), knots_.end(), t,
                                        [](const Knot& knot, Nanoseconds time) { return knot.time_ns < time; });
    if (after == knots_.end()) return knots_.back().shift_ns;
    if (after == knots_.begin()) return after->shift_ns;
    const Knot& before = *std::prev(after);
    const double share = static_cast<double>(t - before.time_ns) / static_cast<double>(after->time_ns - before.time_ns);
    return before.shift_ns + static_cast<Nanoseconds>(share * static_cast<double>(after->shift_ns - before.shift_ns));
  }

 private:
  std::vector<Knot> knots_;
};

void apply(const ShiftMap& map, Trace& trace, ClockRepair& repair) {
  const auto moved = [&](Nanoseconds t) {
    const Nanoseconds shift_ns = map.at(t);
    repair.largest_shift_ns = std::max(repair.largest_shift_ns, std::abs(shift_ns));
    return std::clamp(t + shift_ns, Nanoseconds{0}, kLatestTime);
  };
  for (Operation& operation : trace.operations) {
    operation.span.begin_ns = moved(operation.span.begin_ns);
    operation.span.end_ns = std::max(operation.span.begin_ns, moved(operation.span.end_ns));
  }
  const auto earlier = [](const Operation& a, const Operation& b) { return a.span.begin_ns < b.span.begin_ns; };
  if (!std::is_sorted(trace.operations.begin(), trace.operations.end(), earlier)) {
    std::stable_sort(trace.operations.begin(), trace.operations.end(), earlier);
  }
}

struct EdgeCounts {
  std::uint64_t all = 0;
  std::uint64_t nonsense = 0;
  std::uint64_t broken = 0;

  void add(const Edge& edge) noexcept {
    ++all;
    if (is_nonsense(edge))
      ++nonsense;
    else if (edge.breaks(0, 0))
      ++broken;
  }
};

// Most traces have nothing to repair, which is seen without keeping the edges.
std::vector<Edge> usable_edges(const Trace& trace, const Joins& joins, std::uint64_t count) {
  std::vector<Edge> edges;
  edges.reserve(count);
  const auto keep = [&](const Edge& edge) {
    if (!is_nonsense(edge)) edges.push_back(edge);
  };
  for_each_launch(trace, joins.correlation, keep);
  for_each_wait(trace, joins.outstanding, keep);
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.time_ns < b.time_ns; });
  return edges;
}

}  // namespace

ClockRepair repair_clock(Trace& trace, std::optional<Joins>* joins) {
  ClockRepair repair;
  if (trace.operations.empty()) return repair;
  Correlation correlation(trace);
  auto of_launches = in_background(trace.operations.size(), [&] {
    EdgeCounts counts;
    for_each_launch(trace, correlation, [&](const Edge& edge) { counts.add(edge); });
    return counts;
  });
  std::vector<Outstanding> outstanding = find_outstanding(trace, correlation);
  EdgeCounts counts = of_launches.get();
  for_each_wait(trace, outstanding, [&](const Edge& edge) { counts.add(edge); });
  repair.edges = counts.all;
  repair.broken_before = counts.broken + counts.nonsense;
  repair.broken_after = counts.nonsense;
  std::optional<Joins> found(std::in_place, std::move(correlation), std::move(outstanding));
  if (counts.broken == 0) {
    if (joins != nullptr) joins->swap(found);
    return repair;
  }
  const std::vector<Edge> edges = usable_edges(trace, *found, counts.all);
  found.reset();
  const ShiftMap map(edges);
  for (const Edge& edge : edges) {
    if (edge.breaks(map.at(edge.time_ns), kWorstSkewNs)) ++repair.broken_after;
  }
  apply(map, trace, repair);
  return repair;
}

}  // namespace synctrace
