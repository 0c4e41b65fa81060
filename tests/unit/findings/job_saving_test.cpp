// SPDX-License-Identifier: Apache-2.0
// How far off a saving of a job may be.
#include "findings/job/job_saving.h"

#include "support/catch.h"

namespace synctrace {

TEST_CASE("a saving has a range, whether or not the usual rank's time is known") {
  Interval replayed = {100, 100, 100, Grade::kMedium};
  JobReport report;
  report.base_ns = 1'000;
  CHECK(saving_of(replayed, report).lo_ns == 100);  // there is no usual rank
  report.ranks.emplace_back();
  report.usual = 0;
  CHECK(saving_of(replayed, report).lo_ns == 100);  // it has no GPU
  report.ranks[0].devices.emplace_back().in_steps.compute_ns = 500;
  CHECK(saving_of(replayed, report).lo_ns == 80);
}

TEST_CASE("where power holds the clocks down, a GPU that idles less computes more slowly") {
  Interval replayed = {100, 100, 100, Grade::kMedium};
  JobReport report;
  report.base_ns = 1'000;
  report.usual = 0;
  JobDevice& device = report.ranks.emplace_back().devices.emplace_back();
  device.in_steps.compute_ns = 500;
  device.use.looked_ns = 10;
  CHECK(saving_of(replayed, report).ns == 100);
  device.use.power_ns = 10;  // always: 20 are at stake, 0.6 and 1.5 times
  CHECK(saving_of(replayed, report).ns == 88);
  CHECK(saving_of(replayed, report).lo_ns == 70);
  CHECK(saving_of(replayed, report).hi_ns == 100);
  device.use.power_ns = 5;
  CHECK(saving_of(replayed, report).ns == 94);
  CHECK(saving_of(replayed, report).lo_ns == 80);
  replayed.lo_ns = 40;  // only so far was that rank alone late
  CHECK(saving_of(replayed, report).lo_ns == 40);
}

}  // namespace synctrace
