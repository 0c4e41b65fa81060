// SPDX-License-Identifier: Apache-2.0
// What the idle time of compilation adds to what a replay says of it.
#include "findings/idle_gone.h"

#include "attribution/attribute.h"
#include "findings/report/rules.h"
#include "findings/report/savings.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

// A run of 100 ns in which compilation left the GPU without work for `idle_ns`, `uncertain_ns` of it by guess.
Attribution compiled(Nanoseconds idle_ns, Nanoseconds uncertain_ns) {
  Attribution attribution;
  Cause cause;
  cause.key.kind = CauseKind::kCompile;
  cause.idle_ns = idle_ns;
  cause.by_confidence[static_cast<std::size_t>(Confidence::kLow)] = uncertain_ns;
  Cause other;
  other.key.kind = CauseKind::kHostCompute;
  other.idle_ns = 90;
  attribution.causes[DeviceId{0}] = {other, cause};
  return attribution;
}

SavingsReport replayed(const Rule& rule) {
  SavingsReport savings;
  savings.base_ns = 100;
  savings.remedies.resize(2);
  savings.remedies[0].rule = &rule;
  savings.remedies[0].alone = savings.remedies[0].marginal = savings.remedies[0].cumulative = {10, 5, 15, Grade::kHigh};
  savings.remedies[1].cumulative = savings.all = {20, 10, 25, Grade::kHigh};
  return savings;
}

}  // namespace

TEST_CASE("compilation saves the idle time that it caused, of which the guessed part is not sure") {
  SavingsReport savings = replayed(kCompileRule);
  count_compilation(compiled(70, 20), savings);
  const Interval& alone = savings.remedies[0].alone;
  CHECK(alone.ns == 70);
  CHECK(alone.lo_ns == 45);
  CHECK(alone.hi_ns == 75);
  CHECK(savings.remedies[1].cumulative.ns == 80);
  CHECK(savings.all.ns == 80);
  CHECK(savings.all.hi_ns == 85);
}

TEST_CASE("what a replay says stays where compilation caused less, or another change comes first") {
  SavingsReport savings = replayed(kCompileRule);
  count_compilation(compiled(8, 0), savings);
  CHECK(savings.remedies[0].alone.ns == 10);
  savings = replayed(kHostComputeRule);
  count_compilation(compiled(70, 0), savings);
  CHECK(savings.all.ns == 20);
}

TEST_CASE("no saving of compilation is larger than the run") {
  SavingsReport savings = replayed(kCompileRule);
  count_compilation(compiled(900, 0), savings);
  CHECK(savings.remedies[0].alone.ns == 100);
  CHECK(savings.remedies[1].cumulative.hi_ns == 100);
}

}  // namespace synctrace::testing
