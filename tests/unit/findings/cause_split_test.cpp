// SPDX-License-Identifier: Apache-2.0
// Idle time as the tables cut it: every nanosecond is in one part.
#include "findings/cause_split.h"

#include "support/catch.h"

namespace synctrace {

TEST_CASE("what is in no step is what ordinary and irregular ones leave") {
  Report report;
  report.steps.figures.count = 3;
  IdleCause sync;
  sync.kind = CauseKind::kStreamSync;
  sync.idle_ns = 100;
  sync.steady_ns = 60;
  sync.irregular_ns = 30;
  IdleCause startup;
  startup.kind = CauseKind::kStartup;
  startup.idle_ns = 7;
  const std::vector<IdleCause> causes = {sync, startup};
  const CauseSplit split = split_causes(report, causes);
  CHECK(split.counted_ns == 60);
  CHECK(split.irregular_ns == 30);
  CHECK(split.outside_ns == 10);
  CHECK(split.all_ns == 107);
  CHECK(split.rows.size() == 1);
  CHECK(split.edges.size() == 1);
}

}  // namespace synctrace
