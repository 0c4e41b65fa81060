// SPDX-License-Identifier: Apache-2.0
#include "attribution/launch_runs.h"

#include <algorithm>
#include <unordered_map>

#include "attribution/wait_table.h"
#include "base/search_from.h"
#include "model/tolerances.h"

namespace synctrace {
namespace {

constexpr std::size_t kFewestLaunchesOfRun = 8;

// How long each launch's work ran. Most launch one piece, so that no table is needed.
class DeviceTimes {
 public:
  DeviceTimes(const Trace& trace, const Correlation& correlation) : trace_(trace), correlation_(correlation) {
    correlation.for_each_further([&](Correlation::Issuer issuer, std::uint32_t operation) {
      if (!issuer.is_launch) return;
      Nanoseconds& more_ns = more_ns_[issuer.row];
      more_ns = add_saturated(more_ns, trace.operations[operation].span.length_ns());
    });
  }

  Nanoseconds of(std::uint32_t launch) const {
    const auto first = correlation_.first_work_of({true, launch});
    if (!first) return 0;
    const auto more = more_ns_.find(launch);
    return add_saturated(trace_.operations[*first].span.length_ns(), more == more_ns_.end() ? 0 : more->second);
  }

 private:
  const Trace& trace_;
  const Correlation& correlation_;
  std::unordered_map<std::uint32_t, Nanoseconds> more_ns_;  // only for launches of several pieces
};

class Finder {
 public:
  explicit Finder(std::vector<TimeSpan>& runs) : runs_(runs) {}

  void launch(TimeSpan span, Nanoseconds device_ns) {
    if (count_ > 0 && span.begin_ns - run_.end_ns >= kLongestLaunchPauseNs) close();
    if (count_ == 0) run_.begin_ns = span.begin_ns;
    if (count_ > 0 && last_device_ns_ < span.begin_ns - last_begin_ns_) ++short_;
    ++count_;
    last_begin_ns_ = span.begin_ns;
    last_device_ns_ = device_ns;
    run_.end_ns = span.end_ns;
  }

  void close() {
    // The last launch has no next one to compare with.
    if (count_ >= kFewestLaunchesOfRun && short_ * 2 > count_ - 1) runs_.push_back(run_);
    count_ = 0;
    short_ = 0;
  }

 private:
  std::vector<TimeSpan>& runs_;
  TimeSpan run_;
  std::size_t count_ = 0;
  std::size_t short_ = 0;
  Nanoseconds last_begin_ns_ = 0;
  Nanoseconds last_device_ns_ = 0;
};

}  // namespace

LaunchRuns::LaunchRuns(const Trace& trace, const Correlation& correlation, const HostTimeline& host,
                       const std::vector<Judgement>& judgements)
    : runs_(host.threads()), cursors_(host.threads()) {
  const DeviceTimes times(trace, correlation);
  for (HostTimeline::Index thread = 0; thread < host.threads(); ++thread) {
    Finder finder(runs_[thread]);
    host.for_each(thread, [&](Owner owner, TimeSpan span) {
      if (owner.table == OwnerTable::kLaunch) return finder.launch(span, times.of(owner.row));
      const bool waits = owner.table == OwnerTable::kHostWait || judgements[owner.row].verdict == Verdict::kBlocked ||
                         wait_habit(trace.calls[owner.row]) == WaitHabit::kExplicit;
      if (waits) finder.close();
    });
    finder.close();
  }
}

bool LaunchRuns::covers(HostTimeline::Index thread, Nanoseconds t) const {
  const std::vector<TimeSpan>& runs = runs_[thread];
  const std::size_t begun =
      search_from(runs.size(), cursors_[thread], [&](std::size_t i) { return runs[i].begin_ns < t; });
  return begun > 0 && t <= runs[begun - 1].end_ns;
}

}  // namespace synctrace
