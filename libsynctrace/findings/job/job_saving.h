// SPDX-License-Identifier: Apache-2.0
// What changing one line of a job saves, with a range.
#pragma once

#include "findings/report/job_report.h"
#include "whatif/fix.h"

namespace synctrace {

// A GPU that no longer waits is warmer: with all of its idle time gone, large matrix products of the same program took
// a tenth longer. More so where power limits the clocks: what idles leaves power to what computes. So less than the
// replay's saving is gained (docs/measurements/ranks.md). The report has its ranks with their times, base_ns and the
// usual rank.
Nanoseconds at_real_clocks(Nanoseconds saving_ns, const JobReport& report);

// The report has its ranks with their times, base_ns, alike_ns and the usual rank.
Interval saving_of(const Interval& replayed, const JobReport& report);

}  // namespace synctrace
