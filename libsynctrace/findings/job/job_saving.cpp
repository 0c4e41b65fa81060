// SPDX-License-Identifier: Apache-2.0
#include "findings/job/job_saving.h"

#include <algorithm>

namespace synctrace {

namespace {

constexpr double kSlowdownOfBusyGpu = 0.4;  // kernels take this share longer when all of a step is saved
constexpr double kKnockOnSaving = 0.15;     // the saving may be this share larger
// Where power holds the clocks down all the time: so much of that slow-down is usual, and so much is the most.
constexpr double kUsualAtPowerLimit = 0.6;
constexpr double kMostAtPowerLimit = 1.5;

// How much longer kernels take with a GPU that idles less, and the share of the time at which power holds its clocks
// down.
struct Warmth {
  double slower_ns = 0;
  double power_limited = 0;
};

Warmth warmth_of(Nanoseconds saving_ns, const JobReport& report) {
  if (report.usual >= report.ranks.size() || report.ranks[report.usual].devices.empty()) return {};
  const JobDevice& device = report.ranks[report.usual].devices.front();
  const double saved_share =
      static_cast<double>(saving_ns) / static_cast<double>(std::max<Nanoseconds>(1, report.base_ns));
  const DeviceUse& use = device.use;
  return {kSlowdownOfBusyGpu * static_cast<double>(device.in_steps.compute_ns) * saved_share,
          use.looked_ns <= 0 ? 0 : static_cast<double>(use.power_ns) / static_cast<double>(use.looked_ns)};
}

Nanoseconds less(Nanoseconds saving_ns, double ns) {
  return std::max<Nanoseconds>(0, saving_ns - static_cast<Nanoseconds>(ns));
}

}  // namespace

Nanoseconds at_real_clocks(Nanoseconds saving_ns, const JobReport& report) {
  const Warmth warmth = warmth_of(saving_ns, report);
  return saving_ns <= 0 ? saving_ns : less(saving_ns, kUsualAtPowerLimit * warmth.power_limited * warmth.slower_ns);
}

// The replay's saving, and how far off it may be. What keeps a rank also slows what it does next, so that with it more
// may go, up to where the rank is like the others.
Interval saving_of(const Interval& replayed, const JobReport& report) {
  const Warmth warmth = warmth_of(replayed.ns, report);
  const auto more_ns = static_cast<Nanoseconds>((1 + kKnockOnSaving) * static_cast<double>(replayed.ns));
  Interval interval = replayed;
  interval.grade = interval.ns <= 0 ? Grade::kNone : Grade::kMedium;
  interval.hi_ns = std::max({interval.hi_ns, interval.ns, std::min(report.alike_ns, more_ns)});
  interval.ns = at_real_clocks(replayed.ns, report);
  const Nanoseconds least_ns =
      less(replayed.ns, std::max(1.0, kMostAtPowerLimit * warmth.power_limited) * warmth.slower_ns);
  interval.lo_ns =
      std::clamp<Nanoseconds>(least_ns, 0, std::max<Nanoseconds>(0, std::min(interval.lo_ns, interval.ns)));
  return interval;
}

}  // namespace synctrace
