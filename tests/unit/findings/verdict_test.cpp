// SPDX-License-Identifier: Apache-2.0
// What binds a program, by hand-made causes: the bounds of the verdict and of the hint.
#include "findings/verdict.h"

#include "support/catch.h"

namespace synctrace::testing::verdict_test {
namespace {

IdleCause cause(CauseKind kind, Nanoseconds idle_ns, Nanoseconds uncertain_ns = 0) {
  IdleCause cause;
  cause.kind = kind;
  cause.idle_ns = idle_ns;
  cause.uncertain_ns = uncertain_ns;
  return cause;
}

// A device that computed, in a window of 1,000 ns.
DeviceReport device(std::vector<IdleCause> causes, std::vector<IdleCause> copy_causes = {}) {
  DeviceReport device;
  device.state.window_ns = 1'000;
  device.state.compute_ns = 500;
  device.pieces = 5;
  device.causes = std::move(causes);
  device.copy_causes = std::move(copy_causes);
  return device;
}

VerdictLine verdict(DeviceReport device, const Steps& steps = {}) {
  Report report;
  report.devices.push_back(std::move(device));
  return verdict_of(report, steps);
}

}  // namespace

TEST_CASE("a few pieces of work without steps have no verdict") {
  DeviceReport few = device({cause(CauseKind::kStreamSync, 500)});
  CHECK(verdict(few).word == "sync-bound");
  few.pieces = 4;
  CHECK(verdict(few).word.empty());
  CHECK(verdict(few).evidence == "4 pieces of GPU work are too little to say what binds the program");
  few.pieces = 1;
  CHECK(verdict(few).evidence == "1 piece of GPU work is too little to say what binds the program");
  // A graph a step is enough.
  Steps steps;
  steps.steps.push_back({});
  CHECK_FALSE(verdict(few, steps).word.empty());
}

TEST_CASE("a GPU that lacks work for less than a tenth of the time binds the program") {
  CHECK(verdict(device({cause(CauseKind::kStreamSync, 99)})).word == "gpu-bound");
  CHECK(verdict(device({cause(CauseKind::kStreamSync, 100)})).word == "sync-bound");
}

TEST_CASE("a verdict of which more than a tenth is uncertain is a hint") {
  CHECK(!verdict(device({cause(CauseKind::kStreamSync, 500, 50)})).is_hint);
  CHECK(verdict(device({cause(CauseKind::kStreamSync, 500, 51)})).is_hint);
  CHECK(verdict(device({cause(CauseKind::kStreamSync, 400), cause(CauseKind::kHostCompute, 100, 60)})).is_hint);
}

TEST_CASE("the sort of cause with most of the time gives the word") {
  CHECK(verdict(device({cause(CauseKind::kStreamSync, 100), cause(CauseKind::kInput, 101)})).word == "input-bound");
  CHECK(verdict(device({cause(CauseKind::kStreamSync, 60), cause(CauseKind::kPolling, 60),
                        cause(CauseKind::kLaunchBound, 110)}))
            .word == "sync-bound");
}

TEST_CASE("idle time that nothing explains is another process's where one used the GPU") {
  DeviceReport shared = device({cause(CauseKind::kUnknown, 400), cause(CauseKind::kStreamSync, 100)});
  CHECK(verdict(shared).word == "unknown");
  shared.use = {.looked_ns = 1'000, .others_ns = 620, .others = 1};
  CHECK(verdict(shared).word == "shared-gpu");
  CHECK(verdict(shared).evidence.ends_with("another process used it for 62.0 % of the time"));
  // A cause that is known stays one.
  shared.causes = {cause(CauseKind::kUnknown, 100), cause(CauseKind::kStreamSync, 400)};
  CHECK(verdict(shared).word == "sync-bound");
}

TEST_CASE("time in which only copies ran is the transfers', whatever the host did") {
  const VerdictLine line = verdict(device({cause(CauseKind::kStreamSync, 100)}, {cause(CauseKind::kStreamSync, 150)}));
  CHECK(line.word == "transfer-bound");
  CHECK(line.lacked_ns == 250);
  CHECK(line.copying_ns == 150);
  CHECK(line.of_ns == 1'000);
}

TEST_CASE("of one rank alone, time in collectives is neither the GPU's work nor said to be waiting") {
  DeviceReport one = device({cause(CauseKind::kStreamSync, 50)});
  one.collectives = {300, 0, 10};
  const VerdictLine line = verdict(one);
  CHECK(line.word == "communication-bound");
  CHECK(line.collective_ns == 300);
  CHECK(line.lacked_ns == 50);
  REQUIRE(line.parts.size() == 3);
  CHECK(line.parts[0].ns == 650);
  CHECK(line.evidence.find("not known from one of them") != std::string::npos);
  one.collectives.only_ns = 49;
  CHECK(verdict(one).word == "gpu-bound");
  CHECK(verdict(one).evidence.find("little to gain") == std::string::npos);
  one.collectives.only_ns = 50;
  CHECK(verdict(one).word == "communication-bound");
  // More than the GPU lacked work for it is not.
  one = device({cause(CauseKind::kStreamSync, 301)});
  one.collectives = {300, 0, 10};
  CHECK(verdict(one).word == "sync-bound");
}

TEST_CASE("before the first work and after the last is no time of the program") {
  const VerdictLine line = verdict(
      device({cause(CauseKind::kStartup, 300), cause(CauseKind::kShutdown, 100), cause(CauseKind::kStreamSync, 60)}));
  CHECK(line.of_ns == 600);
  CHECK(line.lacked_ns == 60);
  CHECK(line.word == "sync-bound");
}

TEST_CASE("with steps the time of the ordinary ones counts") {
  Steps steps;
  for (const StepKind kind : {StepKind::kWarmUp, StepKind::kSteady, StepKind::kIrregular}) {
    Step step;
    step.length_ns = 200;
    step.kind = kind;
    steps.steps.push_back(step);
  }
  IdleCause sync = cause(CauseKind::kStreamSync, 400, 200);
  sync.steady_ns = 50;
  sync.irregular_ns = 30;
  sync.uncertain_in_steps_ns = 5;
  const IdleCause startup = cause(CauseKind::kStartup, 300);
  const VerdictLine line = verdict(device({sync, startup}), steps);
  CHECK(line.of_ns == 200);
  CHECK(line.lacked_ns == 50);
  CHECK(!line.is_hint);  // by what is uncertain in the steps, not outside them
  sync.uncertain_in_steps_ns = 6;
  CHECK(verdict(device({sync, startup}), steps).is_hint);
}

TEST_CASE("where much of the time is in irregular steps, little in the others is not called little to gain") {
  Report report;
  report.devices = {device({cause(CauseKind::kStreamSync, 60)})};
  const auto has = [&](std::string_view text) {
    return verdict_of(report, {}).evidence.find(text) != std::string::npos;
  };
  CHECK(has("there is little to gain here"));
  report.steps.figures.irregular = 1;
  report.steps.ordinary_ns = 91;
  report.steps.irregular_ns = 9;
  CHECK(has("there is little to gain here"));
  report.steps.irregular_ns = 11;
  CHECK(has("what there is to gain is in the irregular ones"));
}

TEST_CASE("the device with the most work is judged, and where none worked nothing is") {
  Report report;
  CHECK(verdict_of(report, {}).word.empty());
  report.devices = {device({cause(CauseKind::kStreamSync, 500)}), device({cause(CauseKind::kInput, 500)})};
  report.devices[0].id = 3;
  report.devices[1].id = 4;
  report.devices[1].state.compute_ns = 501;
  CHECK(verdict_of(report, {}).device == 4);
  CHECK(verdict_of(report, {}).word == "input-bound");
  for (DeviceReport& one : report.devices) one.state.compute_ns = 0;
  CHECK(verdict_of(report, {}).word.empty());
}

}  // namespace synctrace::testing::verdict_test
