// SPDX-License-Identifier: Apache-2.0
// Which phase a time belongs to, and where a gap becomes its step's.
#include "steps/phase_search.h"

#include "support/catch.h"

namespace synctrace::testing::phase_search_test {
namespace {

constexpr Nanoseconds kAll = std::numeric_limits<Nanoseconds>::min();

// Steps of ten from each begin, whose work ends with them.
Steps steps_at(const std::vector<Nanoseconds>& begins) {
  Steps steps;
  for (const Nanoseconds begin_ns : begins) {
    Step& step = steps.steps.emplace_back();
    step.host = {begin_ns, begin_ns + 10};
    step.from_ns = begin_ns;
    step.length_ns = 10;
  }
  return steps;
}

// Training in [0, 30) and [80, 100), validation in [40, 60), of which the first step is its warm-up.
struct Program {
  Steps training = steps_at({0, 10, 20, 80, 90});
  std::vector<Steps> others = {steps_at({40, 50})};
  Program() { others.front().steps.front().kind = StepKind::kWarmUp; }
};

}  // namespace

TEST_CASE("a time is in the reported phase, in another one, between steps, or outside") {
  const Program program;
  PhaseSearch search(program.training, program.others);
  const auto look = [&](Nanoseconds t, StepKind kind, std::uint32_t phase, Nanoseconds from_ns) {
    CAPTURE(t);
    const PhaseSearch::At at = search.at(t);
    CHECK(at.kind == kind);
    CHECK(at.phase == phase);
    CHECK(at.from_ns == from_ns);
  };
  look(-1, StepKind::kOutside, kNoPhase, kAll);
  look(0, StepKind::kSteady, kNoPhase, 0);
  look(29, StepKind::kSteady, kNoPhase, kAll);
  look(30, StepKind::kOutside, 1, kAll);  // between
  look(45, StepKind::kOutside, kNoPhase, 40);
  look(55, StepKind::kOutside, 0, kAll);
  look(60, StepKind::kOutside, 1, kAll);
  look(85, StepKind::kSteady, kNoPhase, 80);
  look(95, StepKind::kSteady, kNoPhase, kAll);
  look(100, StepKind::kOutside, kNoPhase, kAll);
  look(55, StepKind::kOutside, 0, kAll);  // back again
}

TEST_CASE("a step whose length begins before it owns the idle time from there") {
  Program program;
  program.training.steps[3].from_ns = 40;
  PhaseSearch search(program.training, program.others);
  CHECK(search.at(85).from_ns == 40);
}

}  // namespace synctrace::testing::phase_search_test
