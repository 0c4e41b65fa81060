// SPDX-License-Identifier: Apache-2.0
// What a row of idle time says of the calls at its line.
#include "findings/report_parts.h"

#include "attribution/attribute.h"
#include "model/stacks.h"
#include "support/catch.h"

namespace synctrace {

TEST_CASE("sleeps count each time, those that cost the GPU nothing too; work that a thread slept for does not") {
  Trace trace;
  trace.windows.emplace_back().span = {0, 1'000};
  trace.codes[1] = Code{"/home/ada/train.py", "step", "\xe9\x04", 10, 0x030c0100};
  trace.stacks[StackId{1}] = parse_stack("p1:0");
  HostWait wait;
  wait.stack = StackId{1};
  wait.call = HostCall::kCondition;
  trace.host_waits = {wait, wait, wait};
  Attribution attribution;
  attribution.sleeps.host_waits.resize(3);
  Cause& cause = attribution.causes[DeviceId{3}].emplace_back();
  cause.key.site.table = OwnerTable::kHostWait;
  cause.key.site.stack = StackId{1};
  cause.key.site.host_call = HostCall::kCondition;
  cause.key.activity = cause.key.site;
  cause.idle_ns = 100;
  cause.occurrences = 1;
  const auto count = [&](CauseKind kind) {
    cause.key.kind = kind;
    StackPlaces places(trace, {});
    const StackReader stacks(trace);
    const LineRules rules(trace, stacks, places);
    Report report;
    report.devices.emplace_back().id = 3;
    add_idle_causes(trace, attribution, rules, places, report);
    return report.devices[0].causes.at(0).count;
  };
  for (const CauseKind kind : {CauseKind::kFrameworkWait, CauseKind::kInput, CauseKind::kPeerThread, CauseKind::kGil,
                               CauseKind::kLock, CauseKind::kSleep, CauseKind::kIo}) {
    INFO(cause_name(kind));
    CHECK(count(kind) == 3);
  }
  CHECK(count(CauseKind::kLoaderCompute) == 1);
}

TEST_CASE("a place is told by its stack in the steps, not by the first one, of the set-up") {
  Trace trace;
  trace.windows.emplace_back().span = {0, 1'000};
  trace.codes[1] = Code{"/home/ada/serve.py", "forward", "\xe9\x04", 10, 0x030c0100};
  trace.codes[2] = Code{"/home/ada/serve.py", "start", "\xe9\x04", 30, 0x030c0100};
  trace.codes[3] = Code{"/home/ada/serve.py", "advance", "\xe9\x04", 50, 0x030c0100};
  trace.stacks[StackId{1}] = parse_stack("p1:0 p2:0");
  trace.stacks[StackId{2}] = parse_stack("p1:0 p3:0");
  Attribution attribution;
  for (const std::uint32_t stack : {1U, 2U}) {
    Cause& cause = attribution.causes[DeviceId{3}].emplace_back();
    cause.key.site.stack = StackId{stack};
    cause.occurrences = stack == 1 ? 9 : 5;
    cause.steady_ns = stack == 1 ? 0 : 80;
    cause.idle_ns = 100;
  }
  StackPlaces places(trace, {});
  const StackPlace place = places.place_of(StackId{1});
  REQUIRE(places.place_of(StackId{2}) == place);
  CHECK(places.line_of(place).stack.at(1).frame.function == "start");
  const StackReader stacks(trace);
  const LineRules rules(trace, stacks, places);
  Report report;
  report.devices.emplace_back().id = 3;
  add_idle_causes(trace, attribution, rules, places, report);
  CHECK(places.line_of(place).stack.at(1).frame.function == "advance");
}

}  // namespace synctrace
