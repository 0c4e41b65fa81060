// SPDX-License-Identifier: Apache-2.0
#include "whatif/recorder_cost.h"
#include "support/catch.h"

using namespace synctrace;

namespace {

RecorderCost of_real_trace() {
  Trace trace;
  trace.facts["cupti_version"] = "130001";
  return RecorderCost(trace);
}

}  // namespace

TEST_CASE("a launch costs little in a tight loop, and most behind other code") {
  const RecorderCost cost = of_real_trace();
  const auto hot = cost.of(3'000, 0, true, false);
  CHECK(hot.inside_ns == 500);
  CHECK(hot.before_ns == 0);
  const auto cold = cost.of(10'000, 20'000, true, false);
  CHECK(cold.inside_ns == 3'500);
  CHECK(cold.before_ns == 800);
  const auto between = cost.of(10'000, 2'000, true, false);
  CHECK(between.inside_ns == 2'000);
  CHECK(between.before_ns == 450);
  CHECK(cost.of(10'000, 20'000, false, false).inside_ns == 400);
}

TEST_CASE("a stack is taken in front of its call") {
  CHECK(of_real_trace().of(10'000, 20'000, true, true).before_ns == 3'400);
}

TEST_CASE("the recorder takes at most half of what was recorded") {
  const auto cost = of_real_trace().of(1'000, 1'000, true, true);
  CHECK(cost.inside_ns == 500);
  CHECK(cost.before_ns == 500);
  CHECK(of_real_trace().of(-5, -5, true, true).inside_ns == 0);
}

TEST_CASE("nothing is taken off where no CUPTI was") {
  Trace trace;
  CHECK(RecorderCost(trace).of(10'000, 20'000, true, true).inside_ns == 0);
  trace.facts["cupti_version"] = "130001";
  trace.facts["simulated"] = "1";
  CHECK(RecorderCost(trace).of(10'000, 20'000, true, true).before_ns == 0);
}
