// SPDX-License-Identifier: Apache-2.0
#include "whatif/recorder_cost.h"

#include "support/catch.h"
#include "whatif/replay.h"

using namespace synctrace;

namespace {

RecorderCost of_real_trace() {
  Trace trace;
  trace.facts["cupti_version"] = "130001";
  return RecorderCost(trace);
}

}  // namespace

TEST_CASE("a launch costs little in a tight loop, and the more the longer other code ran before it") {
  const RecorderCost cost = of_real_trace();
  const auto hot = cost.of(3'000, 0, true, false);
  CHECK(hot.inside_ns == 500);
  CHECK(hot.before_ns == 0);
  const auto cold = cost.of(10'000, 4'000, true, false);
  CHECK(cold.inside_ns == 1'480);
  CHECK(cold.before_ns == 600);
  const auto half_way = cost.of(10'000, 2'000, true, false);
  CHECK(half_way.inside_ns == 990);
  CHECK(half_way.before_ns == 350);
  const auto colder = cost.of(10'000, 14'000, true, false);
  CHECK(colder.inside_ns == (1'480 + 2'720) / 2);
  CHECK(colder.before_ns == (600 + 3'000) / 2);
  const auto coldest = cost.of(10'000, 24'000, true, false);
  CHECK(coldest.inside_ns == 2'720);
  CHECK(coldest.before_ns == 3'000);
  CHECK(cost.of(10'000, 500'000, true, false).inside_ns == coldest.inside_ns);
}

TEST_CASE("a call of which CUPTI makes no record costs its callbacks") {
  CHECK(of_real_trace().of(10'000, 20'000, false, false).inside_ns == 400);
  CHECK(of_real_trace().of(10'000, 20'000, false, false).before_ns == 800);
}

TEST_CASE("where launches behind other code are longer, as on a slow host, more of each is the recorder's") {
  constexpr Nanoseconds kPauseNs = 10'000;
  const auto cost_ns = [](Nanoseconds launch_ns, std::size_t count, ApiCategory category) {
    Trace trace;
    trace.facts["cupti_version"] = "130001";
    trace.apis[ApiId{1}].category = category;
    for (std::size_t i = 0; i < count; ++i) {
      const Nanoseconds begin_ns = static_cast<Nanoseconds>(i) * (launch_ns + kPauseNs);
      trace.launches.push_back({{begin_ns, begin_ns + launch_ns}, ThreadId{7}, ApiId{1}, {}, {}});
    }
    return RecorderCost(trace).of(30'000, 30'000, true, false).inside_ns;
  };
  CHECK(cost_ns(6'200, 100, ApiCategory::kLaunch) == 2'720);
  CHECK(cost_ns(7'200, 100, ApiCategory::kLaunch) == 3'400);
  CHECK(cost_ns(3'000, 100, ApiCategory::kLaunch) == 1'020);
  CHECK(cost_ns(60'000, 100, ApiCategory::kLaunch) == 5'780);
  CHECK(cost_ns(7'200, 20, ApiCategory::kLaunch) == 2'720);
  CHECK(cost_ns(7'200, 100, ApiCategory::kGraphLaunch) == 2'720);
}

TEST_CASE("a stack is taken in front of its call") {
  CHECK(of_real_trace().of(10'000, 40'000, true, true).before_ns == 3'000 + 2'600);
}

TEST_CASE("a stack costs what the recorder says it usually did") {
  const auto with_stack_ns = [](const char* said) {
    Trace trace;
    trace.facts["cupti_version"] = "130001";
    trace.facts["stacks.usual_ns"] = said;
    return RecorderCost(trace).of(10'000, 50'000, true, true).before_ns;
  };
  CHECK(with_stack_ns("640") == 3'000 + 640);
  CHECK(with_stack_ns("7999") == 3'000 + 7'999);
  CHECK(with_stack_ns("-1") == 3'000);
  CHECK(with_stack_ns("90000") == 3'000 + 8'000);
  CHECK(with_stack_ns("99999999999999999999") == 3'000 + 2'600);
  CHECK(with_stack_ns("") == 3'000 + 2'600);
}

TEST_CASE("the recorder takes at most half of what was recorded, or what a launch takes beyond a quick one") {
  CHECK(of_real_trace().of(4'000, 30'000, true, false).inside_ns == 2'000);
  CHECK(of_real_trace().of(4'800, 30'000, true, false).inside_ns == 2'600);
  const auto cost = of_real_trace().of(1'000, 1'000, true, true);
  CHECK(cost.inside_ns == 500);
  CHECK(cost.before_ns == 500);
  CHECK(of_real_trace().of(-5, -5, true, true).inside_ns == 0);
}

TEST_CASE("the time stamps of a record take some of the GPU's time, where work is not of a graph") {
  const RecorderCost cost = of_real_trace();
  const auto of = [&](OperationKind kind, CopyKind copy_kind = CopyKind::kUnknown, GraphId graph = {}) {
    Operation work;
    work.kind = kind;
    work.copy_kind = copy_kind;
    work.graph = graph;
    return cost.of_work(work);
  };
  CHECK(of(OperationKind::kKernel) == 300);
  CHECK(of(OperationKind::kKernel, {}, GraphId{3}) == 0);
  CHECK(of(OperationKind::kGraph) == 0);
  CHECK(of(OperationKind::kMemset) == 1'300);
  CHECK(of(OperationKind::kCopy, CopyKind::kDeviceToHost) == 1'300);
  CHECK(of(OperationKind::kCopy, CopyKind::kDeviceToDevice) == 0);
}

TEST_CASE("nothing is taken off where no CUPTI was") {
  Trace trace;
  CHECK(RecorderCost(trace).of(10'000, 20'000, true, true).inside_ns == 0);
  trace.facts["cupti_version"] = "130001";
  trace.facts["simulated"] = "1";
  CHECK(RecorderCost(trace).of(10'000, 20'000, true, true).before_ns == 0);
  CHECK(RecorderCost(trace).of_work(Operation{}) == 0);
}

TEST_CASE("work starts earlier without the time stamps before it, but never before the work before it ends") {
  ReplayProgram program;
  program.sites.resize(1);
  program.streams = {{0, 0, 0}};
  program.thread_begins = {0};
  program.devices = 1;
  for (const std::int32_t pause_ns : {kNoEdge, 1'000, 100}) {
    LaunchEvent& launch = program.events.add<LaunchEvent>(0, 0);
    launch.latency = 5'000;
    launch.pause = pause_ns;
    launch.length = 100'000;
    launch.gpu_ours = 300;
  }
  const auto end_ns = [&](RecorderOff off) {
    Scenarios scenarios(program);
    scenarios.recorder_off = off;
    scenarios.corners[1].without_delays = true;  // there are none, but weights are taken another way
    const Lanes end = replay(program, scenarios).end;
    CHECK(end.at[1] == end.at[0]);
    return end.at[0];
  };
  CHECK(end_ns(RecorderOff::kNothing) == 306'100);
  CHECK(end_ns(RecorderOff::kAll) == 306'100 - 300 - 300 - 100);
  CHECK(end_ns(RecorderOff::kMore) == 306'100 - 400 - 400 - 100);
}
