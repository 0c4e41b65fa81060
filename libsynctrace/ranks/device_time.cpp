// SPDX-License-Identifier: Apache-2.0
#include "ranks/device_time.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace synctrace {
namespace {

// A unit begins, has waited, or ends.
struct Turn {
  enum class What : std::uint8_t { kEnd, kTransfers, kBegin };  // the order of what happens at one moment
  Nanoseconds at_ns = 0;
  What what = What::kBegin;
  std::uint32_t unit = 0;
};

// The state of a device's collectives as time goes by.
class Under {
 public:
  explicit Under(const std::vector<UnitSplit>& units) : units_(units) {}

  void take(const Turn& turn) {
    const UnitSplit& split = units_[turn.unit];
    switch (turn.what) {
      case Turn::What::kBegin:
        if (!split.is_split)
          ++unsplit_;
        else if (split.wait_ns > 0)
          waiting_.insert(turn.unit);
        else
          ++transfers_;
        break;
      case Turn::What::kTransfers:
        waiting_.erase(turn.unit);
        ++transfers_;
        break;
      case Turn::What::kEnd:
        if (!split.is_split)
          --unsplit_;
        else if (waiting_.erase(turn.unit) == 0)
          --transfers_;
        break;
    }
  }

  enum class Doing : std::uint8_t { kNothing, kTransfer, kUnsplit, kWaiting };
  Doing doing() const noexcept {
    if (transfers_ > 0) return Doing::kTransfer;
    if (unsplit_ > 0) return Doing::kUnsplit;
    return waiting_.empty() ? Doing::kNothing : Doing::kWaiting;
  }
  std::uint32_t waits_for() const { return units_[*waiting_.begin()].waits_for; }

 private:
  const std::vector<UnitSplit>& units_;
  std::uint64_t transfers_ = 0;
  std::uint64_t unsplit_ = 0;
  std::set<std::uint32_t> waiting_;  // units: the GPU waits for the rank that the first of them waits for
};

std::vector<Turn> turns_of(const RankSummary& rank, std::uint32_t device, const std::vector<UnitSplit>& units) {
  std::vector<Turn> turns;
  for (std::uint32_t i = 0; i < rank.units.size(); ++i) {
    const CollectiveUnit& unit = rank.units[i];
    if (unit.device != device || unit.span.empty()) continue;
    turns.push_back({unit.span.begin_ns, Turn::What::kBegin, i});
    turns.push_back({unit.span.end_ns, Turn::What::kEnd, i});
    const Nanoseconds come_ns = unit.span.begin_ns + units[i].wait_ns;
    if (units[i].is_split && units[i].wait_ns > 0 && come_ns < unit.span.end_ns)
      turns.push_back({come_ns, Turn::What::kTransfers, i});
  }
  std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
    return std::tuple(a.at_ns, a.what, a.unit) < std::tuple(b.at_ns, b.what, b.unit);
  });
  return turns;
}

class Shares {
 public:
  Shares(const RankDevice& device, RankTime& time) : device_(device), time_(time) {}

  // One thing went on in all of `span`; spans come in order of time.
  void add(TimeSpan span, const Under& under) {
    const Under::Doing doing = under.doing();
    Nanoseconds alone_ns = 0;
    while (next_ < device_.stretches.size() && device_.stretches[next_].span.end_ns <= span.begin_ns) ++next_;
    for (std::size_t i = next_; i < device_.stretches.size() && device_.stretches[i].span.begin_ns < span.end_ns; ++i) {
      const Nanoseconds ns = intersect(span, device_.stretches[i].span).length_ns();
      alone_ns += ns;
      count(time_.all, doing, under, ns);
      if (device_.stretches[i].in_steps) count(time_.in_steps, doing, under, ns);
    }
    const Nanoseconds beside_ns = span.length_ns() - alone_ns;
    if (doing == Under::Doing::kTransfer) time_.all.overlapped_transfer_ns += beside_ns;
    if (doing == Under::Doing::kWaiting) time_.all.overlapped_waiting_ns += beside_ns;
  }

 private:
  static void count(DeviceTime& time, Under::Doing doing, const Under& under, Nanoseconds ns) {
    if (doing == Under::Doing::kTransfer) {
      time.transfer_ns += ns;
    } else if (doing == Under::Doing::kWaiting) {
      time.waiting_ns += ns;
      time.waiting_for[under.waits_for()] += ns;
    }
  }

  const RankDevice& device_;
  RankTime& time_;
  std::size_t next_ = 0;
};

Nanoseconds lengths_of(const std::vector<CollectiveStretch>& stretches, bool in_steps) {
  Nanoseconds sum_ns = 0;
  for (const CollectiveStretch& one : stretches) sum_ns += in_steps && !one.in_steps ? 0 : one.span.length_ns();
  return sum_ns;
}

Nanoseconds sum_of(const std::array<Nanoseconds, kCauseKinds>& by_cause) {
  return std::accumulate(by_cause.begin(), by_cause.end(), Nanoseconds{0});
}

}  // namespace

RankTime device_time(const RankSummary& rank, std::uint32_t device, const std::vector<UnitSplit>& units) {
  const RankDevice& row = rank.devices[device];
  RankTime time;
  Shares shares(row, time);
  Under under(units);
  Nanoseconds since_ns = 0;
  for (const Turn& turn : turns_of(rank, device, units)) {
    if (turn.at_ns > since_ns && under.doing() != Under::Doing::kNothing) shares.add({since_ns, turn.at_ns}, under);
    since_ns = turn.at_ns;
    under.take(turn);
  }
  DeviceTime& all = time.all;
  all.whole_ns = row.state.window_ns;
  all.unsplit_ns = lengths_of(row.stretches, false) - all.transfer_ns - all.waiting_ns;
  all.compute_ns = row.state.compute_ns - lengths_of(row.stretches, false);
  all.copying_ns = row.state.copy_only_ns;
  all.idle_ns = row.state.idle_ns;
  all.idle_by_cause = row.idle_ns;

  DeviceTime& steps = time.in_steps;
  if (rank.ordinary_steps == 0) {
    steps = all;
    for (std::size_t kind = 0; kind < kCauseKinds; ++kind) {
      if (!is_edge(static_cast<CauseKind>(kind))) continue;
      steps.whole_ns -= steps.idle_by_cause[kind];
      steps.idle_ns -= steps.idle_by_cause[kind];
      steps.idle_by_cause[kind] = 0;
    }
    return time;
  }
  steps.unsplit_ns = lengths_of(row.stretches, true) - steps.transfer_ns - steps.waiting_ns;
  steps.copying_ns = row.copying_in_steps_ns;
  steps.idle_by_cause = row.idle_in_steps_ns;
  steps.idle_ns = sum_of(steps.idle_by_cause);
  const Nanoseconds told_ns =
      steps.transfer_ns + steps.waiting_ns + steps.unsplit_ns + steps.copying_ns + steps.idle_ns;
  steps.compute_ns = std::max<Nanoseconds>(0, rank.in_steps_ns - told_ns);
  steps.whole_ns = steps.compute_ns + told_ns;
  return time;
}

std::string check_sum(const DeviceTime& time) {
  const Nanoseconds sum_ns =
      time.compute_ns + time.transfer_ns + time.waiting_ns + time.unsplit_ns + time.copying_ns + time.idle_ns;
  if (sum_ns != time.whole_ns) return "the parts of a GPU's time do not add up";
  for (const Nanoseconds ns : {time.compute_ns, time.transfer_ns, time.waiting_ns, time.unsplit_ns, time.idle_ns}) {
    if (ns < 0) return "a part of a GPU's time is negative";
  }
  Nanoseconds waiting_ns = 0;
  for (const auto& [rank, ns] : time.waiting_for) waiting_ns += ns;
  if (waiting_ns != time.waiting_ns) return "waiting by rank does not add up";
  return sum_of(time.idle_by_cause) == time.idle_ns ? "" : "idle time by cause does not add up";
}

}  // namespace synctrace
