// SPDX-License-Identifier: Apache-2.0
// What a report says of several phases: their numbers, time, idle time and worst cause, and what lies between.
#include "findings/phases/phases.h"
#include "attribution/attribute.h"

#include "support/catch.h"

namespace synctrace::testing::phases_test {
namespace {

Steps steps_at(const std::string& name, const std::vector<Nanoseconds>& begins) {
  Steps steps;
  steps.source = StepSource::kLoop;
  steps.name = name;
  steps.where = {"/job/" + name + ".py", 7};
  for (const Nanoseconds begin_ns : begins) {
    Step& step = steps.steps.emplace_back();
    step.host = {begin_ns, begin_ns + 10};
    step.length_ns = 10;
  }
  return steps;
}

IdleCause cause(const std::string& name, CauseKind kind, std::vector<std::uint32_t> numbers, Nanoseconds steady_ns) {
  IdleCause cause;
  cause.name = name;
  cause.kind = kind;
  cause.numbers = std::move(numbers);
  cause.steady_ns = steady_ns;
  cause.where.file = "/job/" + name + ".py";
  cause.where.line = 3;
  return cause;
}

// Three phases; the causes 0 and 1 of the device are one row of the report.
struct Program {
  Attribution attribution;
  Report report;

  Program() {
    attribution.steps = steps_at("train", {0, 10, 20, 80, 90});
    attribution.steps.steps.front().kind = StepKind::kWarmUp;
    attribution.other_phases = {steps_at("validate", {40, 50, 60}), steps_at("generate", {100, 110})};
    attribution.times.between_ns = 20;
    attribution.phase_idle[DeviceId{1}] = {{0, 0, 4}, {0, 1, 5}, {0, 2, 8}, {0, 3, 20}, {1, 2, 6}, {2, 1, 7}};
    report.has_timeline = true;
    report.recorded_ns = 1'000;
    report.verdict.device = 1;
    report.devices.resize(2);
    report.devices[1].id = 1;
    report.devices[1].causes = {cause("scalar-read", CauseKind::kStreamSync, {0, 1}, 6),
                                cause("input-bound", CauseKind::kInput, {2}, 7),
                                cause("start-up", CauseKind::kStartup, {3}, 9)};
  }

  void add() { add_phases(attribution, report); }
};

}  // namespace

TEST_CASE("each phase has its steps, its time and what costs most there") {
  Program program;
  program.add();
  REQUIRE(program.report.phases.size() == 3);
  const PhaseReport& train = program.report.phases[0];
  CHECK(train.reported);
  CHECK(train.number == 1);
  CHECK(train.where.function == "train");
  CHECK(train.figures.count == 4);
  CHECK(train.part.time_ns == 40);
  CHECK(train.part.idle_ns == 22);
  REQUIRE(train.part.worst);
  CHECK(train.part.worst->name == "input-bound");
  const PhaseReport& validate = program.report.phases[1];
  CHECK_FALSE(validate.reported);
  CHECK(validate.number == 2);
  CHECK(validate.where.file == "/job/validate.py");
  CHECK(validate.where.line == 7);
  CHECK(validate.part.time_ns == 30);
  CHECK(validate.part.idle_ns == 37);
  REQUIRE(validate.part.worst);  // two causes of one row together; what is at the edge is none's fault
  CHECK(validate.part.worst->name == "scalar-read");
  CHECK(validate.part.worst->idle_ns == 9);
  CHECK(validate.part.worst->where.line == 3);
  CHECK(program.report.phases[2].part.worst->name == "input-bound");
}

TEST_CASE("a phase keeps its number when another is reported") {
  Program program;
  std::swap(program.attribution.steps, program.attribution.other_phases[0]);
  program.attribution.phase = 2;
  program.add();
  std::vector<std::size_t> numbers;
  std::string names;
  for (const PhaseReport& phase : program.report.phases) {
    numbers.push_back(phase.number);
    names += phase.where.function + " ";
  }
  CHECK(numbers == std::vector<std::size_t>{2, 1, 3});
  CHECK(names == "validate train generate ");
}

TEST_CASE("a phase that is not there leaves the others") {
  Program program;
  program.attribution.other_phases.insert(program.attribution.other_phases.begin(),
                                          std::exchange(program.attribution.steps, {}));
  program.attribution.phase = 4;
  program.add();
  REQUIRE(program.report.phases.size() == 3);
  CHECK_FALSE(program.report.phases.front().reported);
  CHECK(program.report.phases.front().number == 1);
}

TEST_CASE("time between steps is told from a fiftieth of the recording") {
  Program program;
  program.report.recorded_ns = 1'001;  // 20 of these are between the steps
  program.add();
  CHECK_FALSE(program.report.between_steps);
  program.report = Program().report;
  program.add();
  REQUIRE(program.report.between_steps);
  CHECK(program.report.between_steps->time_ns == 20);
  CHECK(program.report.between_steps->idle_ns == 7);
  CHECK(program.report.between_steps->worst->name == "scalar-read");
}

TEST_CASE("without a timeline nothing is known of idle time, and without steps of phases") {
  Program program;
  program.report.has_timeline = false;
  program.add();
  CHECK_FALSE(program.report.phases[1].part.worst);
  CHECK(program.report.phases[1].part.time_ns == 30);
  Report empty;
  add_phases({}, empty);
  CHECK(empty.phases.empty());
  CHECK_FALSE(empty.between_steps);
}

}  // namespace synctrace::testing::phases_test
