// SPDX-License-Identifier: Apache-2.0
#include "findings/job/job_saving.h"

#include <algorithm>

namespace synctrace {

// The replay's saving, and how far off it may be. A GPU that no longer waits is warmer: with all of its idle time gone,
// large matrix products of the same program took a tenth longer. And what keeps a rank also slows what it does next, so
// that with it more may go, up to where the rank is like the others (docs/measurements/ranks.md).
Interval saving_of(const BlameRow& row, const JobReport& report) {
  constexpr double kSlowdownOfBusyGpu = 0.4;  // kernels take this share longer when all of a step is saved
  constexpr double kKnockOnSaving = 0.15;     // the saving may be this share larger
  Interval interval = row.saving;
  const auto saving = static_cast<double>(interval.ns);
  double computing_ns = 0;
  if (report.usual < report.ranks.size() && !report.ranks[report.usual].devices.empty())
    computing_ns = static_cast<double>(report.ranks[report.usual].devices.front().in_steps.compute_ns);
  const double warmer_ns =
      kSlowdownOfBusyGpu * computing_ns * saving / static_cast<double>(std::max<Nanoseconds>(1, report.base_ns));
  const Nanoseconds more_ns = std::min(report.alike_ns, static_cast<Nanoseconds>((1 + kKnockOnSaving) * saving));
  interval.grade = interval.ns <= 0 ? Grade::kNone : Grade::kMedium;
  interval.lo_ns = std::clamp<Nanoseconds>(interval.ns - static_cast<Nanoseconds>(warmer_ns), 0,
                                           std::max<Nanoseconds>(0, std::min(interval.lo_ns, interval.ns)));
  interval.hi_ns = std::max({interval.hi_ns, interval.ns, more_ns});
  return interval;
}

}  // namespace synctrace
