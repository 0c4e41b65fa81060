// SPDX-License-Identifier: Apache-2.0
// How long steps took where something else lies between them, what is warm-up, and which of the others are irregular.
#include "steps/step_lengths.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing::step_lengths_test {
namespace {

constexpr Nanoseconds kMs = 1'000'000;

// Pieces of GPU work without calls, which count as issued when they begin.
class Work {
 public:
  Work() { trace_.contexts[ContextId{1}] = {DeviceId{0}, StreamId{7}}; }

  Work& piece(Nanoseconds begin_ms, Nanoseconds end_ms, std::uint32_t stream = 7) {
    Operation operation;
    operation.span = {begin_ms * kMs, end_ms * kMs};
    operation.context = ContextId{1};
    operation.stream = StreamId{stream};
    trace_.operations.push_back(operation);
    return *this;
  }

  std::vector<Step> measured(const std::vector<TimeSpan>& spans_ms, std::optional<StepAxis> axis = {}) const {
    std::vector<Step> steps;
    for (const TimeSpan span : spans_ms) steps.push_back({{span.begin_ns * kMs, span.end_ns * kMs}});
    const Correlation correlation(trace_);
    measure_steps(trace_, correlation, axis.value_or(axis_of(correlation, steps)), steps);
    return steps;
  }

 private:
  Trace trace_;
};

class Lengths {
 public:
  Lengths& add(std::size_t count, Nanoseconds length_ns) {
    for (std::size_t i = 0; i < count; ++i) {
      // Two in a hundred apart, as steps are.
      const Nanoseconds jitter_ns = static_cast<Nanoseconds>(steps_.size() * 7 % 5) * length_ns / 250;
      const Nanoseconds begin_ns = steps_.empty() ? 0 : steps_.back().host.end_ns;
      Step step;
      step.length_ns = length_ns + jitter_ns;
      step.host = {begin_ns, begin_ns + step.length_ns};
      steps_.push_back(step);
    }
    return *this;
  }
  Lengths& load() {  // code, in the last one
    Call call;
    call.span = {steps_.back().host.begin_ns + 1, steps_.back().host.begin_ns + 2};
    call.category = ApiCategory::kModule;
    trace_.calls.push_back(call);
    return *this;
  }

  std::vector<std::size_t> of(StepKind kind) {
    judge_steps(trace_, steps_);
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].kind == kind) found.push_back(i);
    }
    return found;
  }
  std::vector<std::size_t> irregular() { return of(StepKind::kIrregular); }
  std::size_t warm_up() { return of(StepKind::kWarmUp).size(); }

 private:
  Trace trace_;
  std::vector<Step> steps_;
};

using Places = std::vector<std::size_t>;

}  // namespace

TEST_CASE("a step behind another one lasts from the end of that one's work") {
  const std::vector<Step> steps =
      Work().piece(11, 18).piece(21, 33).piece(31, 39, 8).measured({{10, 20}, {20, 30}, {30, 40}});
  CHECK(steps[0].length_ns == 8 * kMs);
  CHECK(steps[1].length_ns == 15 * kMs);
  CHECK(steps[2].length_ns == 6 * kMs);
  CHECK(steps[2].done_ns == 39 * kMs);
}

TEST_CASE("a step behind a gap lasts from its own begin, or from the end of work that was issued before it") {
  const std::vector<TimeSpan> spans = {{10, 20}, {60, 70}};
  CHECK(Work().piece(11, 18).piece(61, 69).measured(spans)[1].length_ns == 9 * kMs);
  // The gap's own work, a validation's, still runs when the step begins.
  const std::vector<Step> steps = Work().piece(11, 18).piece(50, 64).piece(65, 69).measured(spans);
  CHECK(steps[0].length_ns == 8 * kMs);
  CHECK(steps[1].length_ns == 5 * kMs);
  CHECK(begins_anew(steps, 0));
  CHECK(begins_anew(steps, 1));
  CHECK(!begins_anew(Work().piece(11, 18).piece(21, 22).measured({{10, 20}, {20, 30}}), 1));
}

TEST_CASE("where a step issued no work the host's times count") {
  const std::vector<Step> steps = Work().piece(11, 19).measured({{10, 20}, {20, 30}});
  CHECK(steps[0].length_ns == 10 * kMs);
  CHECK(steps[1].length_ns == 10 * kMs);
  CHECK(steps[1].done_ns == 0);
}

TEST_CASE("on the axis of the device a step without work ends with the host's part of it") {
  const std::vector<Step> steps =
      Work().piece(11, 24).piece(41, 49).measured({{10, 20}, {20, 30}, {30, 40}, {40, 50}}, StepAxis::kDevice);
  const std::vector<TimeSpan> expected = {{11, 24}, {24, 30}, {30, 40}, {40, 49}};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CAPTURE(i);
    CHECK(steps[i].from_ns == (i == 0 ? 10 : expected[i].begin_ns) * kMs);
    CHECK(steps[i].from_ns + steps[i].length_ns == expected[i].end_ns * kMs);
  }
}

TEST_CASE("between two steps there is no step") {
  const std::vector<Step> steps = Work().piece(11, 18).piece(61, 69).measured({{10, 20}, {60, 70}});
  std::size_t cursor = 0;
  CHECK(step_at(steps, 15 * kMs, cursor) == &steps[0]);
  CHECK(step_at(steps, 20 * kMs, cursor) == nullptr);
  CHECK(step_at(steps, 60 * kMs, cursor) == &steps[1]);
  CHECK(step_at(steps, 9 * kMs, cursor) == nullptr);
}

TEST_CASE("rare steps of another length are irregular, those that recur are not") {
  Lengths rare;
  for (int i = 0; i < 5; ++i) rare.add(20, 10 * kMs).add(i % 2, 40 * kMs);
  CHECK(rare.irregular() == Places{40, 81});
  Lengths two_of_few;
  CHECK(two_of_few.add(10, 10 * kMs).add(1, 40 * kMs).add(9, 10 * kMs).add(1, 40 * kMs).irregular() == Places{10, 20});
  Lengths starved;  // every eighth batch is late
  for (int i = 0; i < 12; ++i) starved.add(7, 10 * kMs).add(1, 90 * kMs);
  CHECK(starved.irregular().empty());
  CHECK(starved.warm_up() < 9);
  Lengths at_times;  // every fourteenth is
  for (int i = 0; i < 8; ++i) at_times.add(13, 10 * kMs).add(1, 90 * kMs);
  CHECK(at_times.irregular().empty());
  Lengths three_of_few;
  CHECK(three_of_few.add(9, 10 * kMs).add(2, 90 * kMs).add(9, 10 * kMs).add(1, 90 * kMs).irregular().empty());
  // Three of a hundred are as rare as one of thirty-three.
  Lengths three;
  for (int i = 0; i < 3; ++i) three.add(33, 10 * kMs).add(1, 90 * kMs);
  CHECK(three.irregular() == Places{33, 67, 101});
}

TEST_CASE("what holds up two steps in a row comes once") {
  Lengths lengths;
  for (int i = 0; i < 4; ++i) lengths.add(23, 10 * kMs).add(2, 90 * kMs);
  CHECK(lengths.irregular() == Places{23, 24, 48, 49, 73, 74, 98, 99});
}

TEST_CASE("a hole far beyond what recurs is irregular") {
  Lengths lengths;
  for (int i = 0; i < 12; ++i) lengths.add(7, 10 * kMs).add(1, 90 * kMs).add(i == 6, 2'000 * kMs);
  CHECK(lengths.irregular() == Places{56});
}

TEST_CASE("steps in which code was loaded do not recur, however many they are") {
  Lengths lengths;
  for (int i = 0; i < 6; ++i) lengths.add(9, 10 * kMs).add(1, 150 * kMs).load();
  CHECK(lengths.irregular() == Places{9, 19, 29, 39, 49, 59});
}

TEST_CASE("a hole in the first half does not make what comes before it warm-up") {
  Lengths lengths;
  lengths.add(45, 10 * kMs).add(1, 400 * kMs).add(54, 10 * kMs);
  CHECK(lengths.irregular() == Places{45});
  CHECK(lengths.warm_up() == 0);
}

TEST_CASE("leading steps that settle down are the warm-up, and no more than these") {
  Lengths lengths;
  lengths.add(1, 300 * kMs).load().add(1, 30 * kMs).add(1, 12 * kMs).add(60, 10 * kMs);
  CHECK(lengths.of(StepKind::kWarmUp) == Places{0, 1, 2});
  CHECK(lengths.irregular().empty());
  Lengths steady;
  CHECK(steady.add(64, 10 * kMs).warm_up() == 0);
  Lengths halves;  // at most half
  CHECK(halves.add(50, 20 * kMs).add(30, 10 * kMs).warm_up() <= 40);
}

// The first ten are 8 % longer: with six of them the mean of a hundred is known to 0.2 %.
TEST_CASE("the warm-up ends where the mean is sure enough, though it would be surer further on") {
  Lengths lengths;
  const std::size_t warm_up = lengths.add(10, kMs * 108 / 10).add(90, 10 * kMs).warm_up();
  CHECK(warm_up >= 3);
  CHECK(warm_up <= 6);
}

// The median difference is some 3.5 %, the spread half as much again, and the limit five times that.
TEST_CASE("a step that is a fifth longer is ordinary among steps that differ, one that is two fifths longer is not") {
  Lengths lengths;
  for (int i = 0; i < 14; ++i) lengths.add(1, 96 * kMs).add(1, 100 * kMs).add(1, 104 * kMs);
  lengths.add(1, 120 * kMs).add(1, 140 * kMs).add(1, 100 * kMs);
  CHECK(lengths.irregular() == Places{43});
}

}  // namespace synctrace::testing::step_lengths_test
