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

TEST_CASE("where launches behind other code are longer, as on a slow host, more of each is the recorder's") {
  constexpr Nanoseconds kPauseNs = 10'000;
  const auto cold_cost_ns = [](Nanoseconds launch_ns, std::size_t count, ApiCategory category) {
    Trace trace;
    trace.facts["cupti_version"] = "130001";
    trace.apis[ApiId{1}].category = category;
    for (std::size_t i = 0; i < count; ++i) {
      const Nanoseconds begin_ns = static_cast<Nanoseconds>(i) * (launch_ns + kPauseNs);
      trace.launches.push_back({{begin_ns, begin_ns + launch_ns}, ThreadId{7}, ApiId{1}, {}, {}});
    }
    return RecorderCost(trace).of(20'000, kPauseNs, true, false).inside_ns;
  };
  CHECK(cold_cost_ns(6'200, 100, ApiCategory::kLaunch) == 3'500);
  CHECK(cold_cost_ns(7'700, 100, ApiCategory::kLaunch) == 5'000);
  CHECK(cold_cost_ns(3'000, 100, ApiCategory::kLaunch) == 1'000);
  CHECK(cold_cost_ns(60'000, 100, ApiCategory::kLaunch) == 8'000);
  CHECK(cold_cost_ns(7'700, 20, ApiCategory::kLaunch) == 3'500);
  CHECK(cold_cost_ns(7'700, 100, ApiCategory::kGraphLaunch) == 3'500);
}

TEST_CASE("a stack is taken in front of its call") {
  CHECK(of_real_trace().of(10'000, 20'000, true, true).before_ns == 3'400);
}

TEST_CASE("a stack costs what the recorder says it usually did") {
  const auto with_stack_ns = [](const char* said) {
    Trace trace;
    trace.facts["cupti_version"] = "130001";
    trace.facts["stacks.usual_ns"] = said;
    return RecorderCost(trace).of(10'000, 50'000, true, true).before_ns;
  };
  CHECK(with_stack_ns("640") == 800 + 640);
  CHECK(with_stack_ns("7999") == 800 + 7'999);
  CHECK(with_stack_ns("-1") == 800);
  CHECK(with_stack_ns("90000") == 800 + 8'000);
  CHECK(with_stack_ns("99999999999999999999") == 800 + 2'600);
  CHECK(with_stack_ns("") == 800 + 2'600);
}

TEST_CASE("the recorder takes at most half of what was recorded, or what a launch takes beyond that of a bare one") {
  CHECK(of_real_trace().of(5'000, 20'000, true, false).inside_ns == 2'500);
  CHECK(of_real_trace().of(6'000, 20'000, true, false).inside_ns == 3'300);
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
