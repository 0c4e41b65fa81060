// SPDX-License-Identifier: Apache-2.0
// How far off a saving of a job may be.
#include "findings/job/job_saving.h"

#include "support/catch.h"

namespace synctrace {

TEST_CASE("a saving has a range, whether or not the usual rank's time is known") {
  BlameRow row;
  row.saving = {100, 100, 100, Grade::kMedium};
  JobReport report;
  report.base_ns = 1'000;
  CHECK(saving_of(row, report).lo_ns == 100);  // there is no usual rank
  report.ranks.emplace_back();
  report.usual = 0;
  CHECK(saving_of(row, report).lo_ns == 100);  // it has no GPU
  report.ranks[0].devices.emplace_back().in_steps.compute_ns = 500;
  CHECK(saving_of(row, report).lo_ns == 80);
}

}  // namespace synctrace
