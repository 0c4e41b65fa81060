// SPDX-License-Identifier: Apache-2.0
// The explanation of generated traces against their known truth: the hand-checked vector to the nanosecond, and random
// programs by the share of idle time explained as it was.
#include <cstdlib>

#include "support/catch.h"
#include "support/effort.h"
#include "support/generated_support.h"
#include "support/generator/random_program.h"
#include "support/hand_checked.h"

namespace synctrace::testing::generator::generated_truth_test {
namespace {

constexpr std::uint64_t kPrograms = effort(2'000);

Accuracy over_random_programs(const Recording& recording, Nanoseconds scale = 1) {
  Accuracy accuracy;
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    CAPTURE(seed);
    const Program program = random_program(seed, scale);
    const Run run = play(program, seed);
    REQUIRE(run.deadlocked_threads == 0);
    const Trace trace = load_generated(program, run, recording);
    const Accuracy one = accuracy_of(program, run, trace, explain_generated(trace), recording.shift_ns);
    if (std::getenv("SYNCTRACE_SHOW_SEEDS") != nullptr && one.right_ns * 100 < one.total_ns * 97) {
      WARN("seed " << seed << ": " << one.right_ns * 100 / one.total_ns << " %\n" << one.worst(4));
    }
    accuracy.add(one);
  }
  if (std::getenv("SYNCTRACE_SHOW") != nullptr) WARN(accuracy.percent() << " %; worst:\n" << accuracy.worst(12));
  return accuracy;
}

struct Expected {
  Nanoseconds begin_us;
  Nanoseconds end_us;
  CauseKind kind;
  std::uint32_t place;
  CauseKind activity;
  bool drained;
};

void check_vector(bool second_wait, const std::vector<Expected>& expected) {
  const Program program = hand_checked(second_wait);
  const Run run = play(program, 1);
  const Trace trace = load_generated(program, run, {});
  const Attribution attribution = explain_generated(trace);
  std::vector<Part> parts;
  for (const Part& part : attribution.parts.at(DeviceId{0})) {
    if (part.kind != CauseKind::kStartup && part.kind != CauseKind::kShutdown) parts.push_back(part);
  }
  REQUIRE(parts.size() == expected.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CAPTURE(i);
    CHECK(parts[i].span.begin_ns == kRunBeginNs + expected[i].begin_us * 1'000);
    CHECK(parts[i].span.end_ns == kRunBeginNs + expected[i].end_us * 1'000);
    CHECK(cause_name(parts[i].kind) == cause_name(expected[i].kind));
    CHECK(parts[i].drained == expected[i].drained);
    CHECK(cause_name(parts[i].activity_kind) == cause_name(expected[i].activity));
    CHECK(trace.calls[parts[i].owner.row].stack == stack_of_place(expected[i].place));
    CHECK(parts[i].confidence >= Confidence::kMedium);
  }
}

}  // namespace

TEST_CASE("hand-checked: the wait's return is its own, and the host time behind it is charged to it") {
  check_vector(false, {{104, 110, CauseKind::kStreamSync, 1, CauseKind::kStreamSync, false},
                       {110, 130, CauseKind::kStreamSync, 1, CauseKind::kHostCompute, true},
                       {130, 134, CauseKind::kStreamSync, 1, CauseKind::kLaunchBound, true}});
}

TEST_CASE("hand-checked: a second wait answers for its own time, the first one still for the rest") {
  check_vector(true, {{104, 110, CauseKind::kStreamSync, 1, CauseKind::kStreamSync, false},
                      {110, 112, CauseKind::kStreamSync, 2, CauseKind::kStreamSync, false},
                      {112, 132, CauseKind::kStreamSync, 1, CauseKind::kHostCompute, true},
                      {132, 136, CauseKind::kStreamSync, 1, CauseKind::kLaunchBound, true}});
}

TEST_CASE("random programs, everything recorded: at least 99 % of the idle time is explained as it was") {
  const Accuracy accuracy = over_random_programs({});
  INFO(accuracy.percent() << " %; worst:\n" << accuracy.worst(12));
  CHECK(accuracy.percent() >= 99.0);
}

// Two stretches of host time with no call between them and only one sample are told apart as well as a sampler can: not
// at all. So the programs' host times are long against the sampler's period, as those of real ones are.
TEST_CASE("random programs, samples every 2 ms and a GPU clock 5 us off: at least 95 %") {
  constexpr Nanoseconds kScale = 4;  // stretches of 0.24 to 12 ms
  Recording recording;
  recording.samples = Recording::Samples::kPeriodic;
  recording.skew_ns = 5'000;
  const Accuracy ahead = over_random_programs(recording, kScale);
  INFO(ahead.percent() << " %; worst:\n" << ahead.worst(12));
  CHECK(ahead.percent() >= 95.0);
  recording.skew_ns = -5'000;
  CHECK(over_random_programs(recording, kScale).percent() >= 95.0);
}

TEST_CASE("random programs, nobody knows who woke whom: at least 90 %") {
  Recording recording;
  recording.wakers = false;
  const Accuracy accuracy = over_random_programs(recording);
  INFO(accuracy.percent() << " %; worst:\n" << accuracy.worst(12));
  CHECK(accuracy.percent() >= 90.0);
}

}  // namespace synctrace::testing::generator::generated_truth_test
