// SPDX-License-Identifier: Apache-2.0
// Steps that take unusually long as changes: from which share on, what each cause saves, and how a prediction for
// ordinary steps goes on to stand for all.
#include "findings/slow_steps.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attribution/attribute.h"
#include "findings/phases/slow_causes.h"
#include "whatif/fix_sites.h"

#include "support/catch.h"

namespace synctrace::testing::slow_steps_test {
namespace {

constexpr Nanoseconds kMs = 1'000'000;

Cause cause(CauseKind kind, Nanoseconds steady_ns, Nanoseconds irregular_ns) {
  Cause cause;
  cause.key.kind = kind;
  cause.idle_ns = steady_ns + irregular_ns;
  cause.steady_ns = steady_ns;
  cause.irregular_ns = irregular_ns;
  cause.by_confidence[static_cast<std::size_t>(Confidence::kHigh)] = cause.idle_ns;
  return cause;
}

FixKey key(CauseKind kind) { return fix_key_of_cause(kind, {}, {}, {}, {}); }

// 98 steps of 10 ms, and two of `slow_ms`. The collector takes all that they take more.
struct Program {
  Attribution attribution;
  Report report;
  std::vector<Cause>& causes;

  explicit Program(Nanoseconds slow_ms) : causes(attribution.causes[DeviceId{0}]) {
    report.steps.figures.count = 100;
    report.steps.figures.irregular = 2;
    report.steps.ordinary_ns = 980 * kMs;
    report.steps.ordinary_mean_ns = 10 * kMs;
    report.steps.irregular_ns = 2 * slow_ms * kMs;
    causes = {cause(CauseKind::kHostCompute, 98 * kMs, 2 * kMs),
              cause(CauseKind::kGarbageCollection, 0, 2 * (slow_ms - 10) * kMs)};
  }

  SlowSteps found() const {
    const Trace trace;
    StackPlaces places(trace, UserCode(""));
    return find_slow_steps(attribution, places, report);
  }
};

Remedy remedy(CauseKind kind, Nanoseconds marginal_ns, Nanoseconds cumulative_ns) {
  Remedy one;
  one.title = "another";
  one.fixes.resize(1);
  one.fixes[0].key = key(kind);
  one.alone = one.marginal = {marginal_ns, marginal_ns, marginal_ns, Grade::kHigh};
  one.cumulative = {cumulative_ns, cumulative_ns, cumulative_ns, Grade::kHigh};
  return one;
}

}  // namespace

TEST_CASE("slow steps count from a twentieth of the loop on") {
  CHECK(Program(37).found().extra_ns == 54 * kMs);  // 5.2 % of 1,034 ms
  CHECK(Program(35).found().extra_ns == 0);         // 4.9 %
  CHECK(Program(5).found().extra_ns == 0);
  Program all_slow(60);
  all_slow.report.steps.figures.irregular = 100;
  CHECK(all_slow.found().extra_ns == 0);
}

TEST_CASE("a cause saves what it costs slow steps more than others, and together no more than there is") {
  const SlowSteps slow = Program(60).found();
  REQUIRE(slow.causes.size() == 1);  // the other one takes as long in each step
  CHECK(slow.causes[0].kind == CauseKind::kGarbageCollection);
  CHECK(slow.causes[0].saving.ns == 100 * kMs);
  CHECK(slow.causes[0].saving.lo_ns == 100 * kMs);
  CHECK(slow.causes[0].saving.hi_ns == 100 * kMs);

  Program both(60);
  both.causes[0] = cause(CauseKind::kHostCompute, 98 * kMs, 42 * kMs);
  both.causes[1] = cause(CauseKind::kGarbageCollection, 0, 80 * kMs);
  both.causes[1].by_confidence = {40 * kMs, 0, 40 * kMs};
  const SlowSteps two = both.found();
  REQUIRE(two.causes.size() == 2);
  CHECK(two.causes[0].saving.ns == 80 * kMs);
  CHECK(two.causes[0].saving.lo_ns == 40 * kMs);
  CHECK(two.causes[1].saving.ns == 20 * kMs);

  Program half(60);
  half.causes[1] = cause(CauseKind::kGarbageCollection, 0, 50 * kMs);
  const SlowSteps rest = half.found();
  REQUIRE(rest.causes.size() == 1);
  CHECK(rest.causes[0].saving.ns == 50 * kMs);
  CHECK(rest.causes[0].saving.hi_ns == 100 * kMs);  // what nobody explains may be its
}

TEST_CASE("behind a wait that emptied the queue, what the host did is the cause") {
  Program program(60);
  program.causes[1].key.kind = CauseKind::kStreamSync;
  program.causes[1].key.activity_kind = CauseKind::kGarbageCollection;
  program.causes[1].key.drained = true;
  const SlowSteps slow = program.found();
  REQUIRE(slow.causes.size() == 1);
  CHECK(slow.causes[0].kind == CauseKind::kGarbageCollection);
}

TEST_CASE("what slow steps do more where it is compiled again is compilation") {
  Program program(60);
  program.causes[0] = cause(CauseKind::kHostCompute, 0, 40 * kMs);
  program.causes[1] = cause(CauseKind::kCompile, 0, 60 * kMs);
  SlowSteps slow = program.found();
  REQUIRE(slow.causes.size() == 1);
  CHECK(slow.causes[0].kind == CauseKind::kCompile);
  CHECK(slow.causes[0].saving.ns == 95 * kMs);
  CHECK(slow.causes[0].saving.lo_ns == 88 * kMs);
  CHECK(slow.causes[0].saving.hi_ns == 100 * kMs);

  program.causes[0].key.kind = CauseKind::kSleep;  // a compiler computes
  slow = program.found();
  CHECK(slow.causes.size() == 2);
}

TEST_CASE("time of the GPU's edges and of nobody known saves nothing") {
  for (const CauseKind kind : {CauseKind::kStartup, CauseKind::kUnknown}) {
    Program program(60);
    program.causes[1].key.kind = kind;
    CHECK(program.found().causes.empty());
  }
}

TEST_CASE("a prediction for ordinary steps stands for all of them, with what slow ones take more") {
  const Program program(60);
  WhatIf found;
  found.by_steps = true;
  found.steps = 98;
  found.base_ns = found.recorded_ns = 980 * kMs;
  found.all = {98 * kMs, 98 * kMs, 98 * kMs, Grade::kHigh};
  stand_for_all_steps(program.found(), program.report.steps.figures, found);
  CHECK(found.steps == 100);
  CHECK(found.base_ns == 1'100 * kMs);
  CHECK(found.recorded_ns == program.report.steps.ordinary_ns + program.report.steps.irregular_ns);
  CHECK(found.all.ns == 200 * kMs);
  WhatIf whole;
  whole.base_ns = 980 * kMs;
  stand_for_all_steps(program.found(), program.report.steps.figures, whole);
  CHECK(whole.base_ns == 980 * kMs);
}

TEST_CASE("the change stands where its saving belongs, and what follows counts it") {
  const Program program(60);
  SavingsReport savings;
  savings.by_steps = true;
  savings.remedies = {remedy(CauseKind::kInput, 300 * kMs, 300 * kMs), remedy(CauseKind::kLock, 20 * kMs, 320 * kMs)};
  add_slow_step_remedies(program.found(), program.report.steps.figures, Frameworks(Trace{}), savings);
  CHECK(savings.slow_ns == 100 * kMs);
  REQUIRE(savings.remedies.size() == 3);
  const Remedy& added = savings.remedies[1];
  CHECK(added.title == "Keep the garbage collector out of the steps");
  CHECK(added.rule == &kCollectionRule);
  CHECK(!added.to_type.empty());
  CHECK(added.marginal.ns == 100 * kMs);
  CHECK(added.cumulative.ns == 400 * kMs);
  CHECK(savings.remedies[0].cumulative.ns == 300 * kMs);
  CHECK(savings.remedies[2].cumulative.ns == 420 * kMs);
}

TEST_CASE("a place that has a change already has one, and not two") {
  Program program(60);
  program.causes[1].key.kind = CauseKind::kIo;
  SavingsReport savings;
  savings.by_steps = true;
  savings.remedies = {remedy(CauseKind::kInput, 300 * kMs, 300 * kMs), remedy(CauseKind::kIo, 20 * kMs, 320 * kMs),
                      remedy(CauseKind::kLock, kMs, 321 * kMs)};
  add_slow_step_remedies(program.found(), program.report.steps.figures, Frameworks(Trace{}), savings);
  REQUIRE(savings.remedies.size() == 3);
  CHECK(savings.remedies[1].marginal.ns == 120 * kMs);
  CHECK(savings.remedies[1].cumulative.ns == 420 * kMs);
  CHECK(savings.remedies[2].cumulative.ns == 421 * kMs);

  savings.remedies.clear();
  add_slow_step_remedies(program.found(), program.report.steps.figures, Frameworks(Trace{}), savings);
  REQUIRE(savings.remedies.size() == 1);
  CHECK(savings.remedies[0].title == "Keep reading and writing out of 2 slow steps");
  CHECK(savings.remedies[0].to_type.empty());  // it has no line
  CHECK(savings.remedies[0].cumulative.ns == 100 * kMs);
}

TEST_CASE("what slow steps do at the line of the loader belongs to the change that feeds the input") {
  Program program(60);
  SlowSteps slow = program.found();
  REQUIRE(slow.causes.size() == 1);
  SavingsReport savings;
  savings.by_steps = true;
  const auto changes_at = [&](const std::pair<std::string, std::uint32_t>& row,
                              const std::pair<std::string, std::uint32_t>& of_the_loader) {
    slow.causes[0].kind = CauseKind::kHostCompute;
    slow.causes[0].key = key(CauseKind::kHostCompute);
    std::tie(slow.causes[0].where.file, slow.causes[0].where.line) = row;
    savings.remedies = {remedy(CauseKind::kInput, 300 * kMs, 300 * kMs)};
    savings.remedies[0].fix = Fix::kFeedInput;
    SourceLine& where = savings.remedies[0].fixes[0].where;
    std::tie(where.file, where.line) = of_the_loader;
    add_slow_step_remedies(slow, program.report.steps.figures, Frameworks(Trace{}), savings);
    return savings.remedies.size();
  };
  CHECK(changes_at({"train.py", 7}, {"train.py", 7}) == 1);
  CHECK(changes_at({"train.py", 8}, {"train.py", 7}) == 2);
  CHECK(changes_at({"data.py", 7}, {"train.py", 7}) == 2);
  CHECK(changes_at({}, {}) == 2);  // two places that nobody knows are not one
}

// The place of the slow steps' row, which has no words, among two changes of 40 and 30 ms.
std::size_t place_beside(Fix fix, const std::vector<std::string>& typed) {
  Program program(60);
  program.causes[1].key.kind = CauseKind::kIo;
  SavingsReport savings;
  savings.by_steps = true;
  savings.remedies = {remedy(CauseKind::kInput, 40 * kMs, 40 * kMs), remedy(CauseKind::kLock, 30 * kMs, 70 * kMs)};
  for (Remedy& one : savings.remedies) one.to_type = {"typed"};
  savings.remedies[0].fix = fix;
  savings.remedies[0].to_type = typed;
  add_slow_step_remedies(program.found(), program.report.steps.figures, Frameworks(Trace{}), savings);
  const auto row = std::find_if(savings.remedies.begin(), savings.remedies.end(),
                                [](const Remedy& one) { return one.title != "another"; });
  return static_cast<std::size_t>(row - savings.remedies.begin());
}

TEST_CASE("a row without words stands behind changes that can be typed and save a third as much") {
  CHECK(place_beside(Fix::kFeedInput, {"typed"}) == 1);
  CHECK(place_beside(Fix::kSpeedUp, {"typed"}) == 0);
  CHECK(place_beside(Fix::kFeedInput, {}) == 0);
}

TEST_CASE("a row without words stands behind a change that saves a third as much to the nanosecond, and no less") {
  const auto place_behind = [](Nanoseconds saved_ns) {
    Program program(60);
    program.causes[1].key.kind = CauseKind::kIo;
    SavingsReport savings;
    savings.by_steps = true;
    savings.remedies = {remedy(CauseKind::kInput, saved_ns, saved_ns)};
    savings.remedies[0].to_type = {"typed"};
    add_slow_step_remedies(program.found(), program.report.steps.figures, Frameworks(Trace{}), savings);
    REQUIRE(savings.remedies.size() == 2);
    return savings.remedies[0].title == "another" ? 1 : 0;
  };
  CHECK(place_behind(100 * kMs / 3) == 1);
  CHECK(place_behind(100 * kMs / 3 - 1) == 0);
}

TEST_CASE("a change of slow steps stands behind one that saves as much") {
  const Program program(60);
  SavingsReport savings;
  savings.by_steps = true;
  savings.remedies = {remedy(CauseKind::kInput, 100 * kMs, 100 * kMs)};
  add_slow_step_remedies(program.found(), program.report.steps.figures, Frameworks(Trace{}), savings);
  REQUIRE(savings.remedies.size() == 2);
  CHECK(savings.remedies[0].title == "another");
  CHECK(savings.remedies[0].cumulative.ns == 100 * kMs);
  CHECK(savings.remedies[1].cumulative.ns == 200 * kMs);
}

TEST_CASE("a title says what slow steps do and the others do not") {
  const auto title_of = [](CauseKind kind) {
    Program program(60);
    program.causes[1].key.kind = kind;
    SavingsReport savings;
    savings.by_steps = true;
    add_slow_step_remedies(program.found(), program.report.steps.figures, Frameworks(Trace{}), savings);
    return savings.remedies.empty() ? std::string() : savings.remedies[0].title;
  };
  CHECK(title_of(CauseKind::kRelease) == "Keep freeing of memory out of 2 slow steps");
  CHECK(title_of(CauseKind::kAllocation) == "Keep allocation out of 2 slow steps");
  CHECK(title_of(CauseKind::kBlockingCopy) == "Keep a copy out of 2 slow steps");
  CHECK(title_of(CauseKind::kPageableCopy) == "Keep a copy out of 2 slow steps");
  CHECK(title_of(CauseKind::kLatency) == "Keep slow launches out of 2 slow steps");
  CHECK(title_of(CauseKind::kModuleLoad) == "Keep loading of code out of 2 slow steps");
  CHECK(title_of(CauseKind::kInput) == "Keep waits for the loader out of 2 slow steps");
}

TEST_CASE("where a library has a switch for what slow steps do, the change is that switch") {
  SlowStepCause copy;
  copy.kind = CauseKind::kBlockingCopy;
  const auto called = [&](const char* file, const char* function, const char* source) {
    ShownFrame frame;
    frame.frame.kind = FrameKind::kPython;
    frame.frame.file = file;
    frame.frame.function = function;
    frame.frame.line = 7;
    frame.source = source;
    copy.where.stack.push_back(frame);
  };
  called("/site-packages/transformers/trainer.py", "Trainer.evaluation_loop", "preds = all_preds.get_arrays()");
  called("/home/user/train.py", "main", "trainer.train()");
  copy.where.file = "/home/user/train.py";
  copy.where.function = "main";
  copy.where.source = "trainer.train()";
  copy.where.line = 7;
  copy.saving.ns = 10 * kMs;
  Program program(60);
  const auto change = [&] {
    SavingsReport savings;
    savings.by_steps = true;
    add_slow_step_remedies({20 * kMs, {copy}}, program.report.steps.figures, Frameworks(Trace{}), savings);
    return savings.remedies.at(0);
  };
  CHECK(change().title == "Shrink the logits on the GPU before they are copied");
  CHECK((change().by_library && change().to_type.size() == 2));
  copy.where.stack.erase(copy.where.stack.begin());
  CHECK(change().title == "Keep a copy out of 2 slow steps");
}

TEST_CASE("a program of CuPy gets no words of PyTorch for what its slow steps do") {
  SlowStepCause read;
  read.kind = CauseKind::kHostCompute;
  read.where.file = "/home/user/train.py";
  read.where.line = 7;
  read.where.source = "y = scaled_dot_product_attention(q, k, v)";
  read.saving.ns = 10 * kMs;
  Program program(60);
  const auto is_librarys = [&](const char* loaded) {
    Trace trace;
    trace.modules[1].path = loaded;
    SavingsReport savings;
    savings.by_steps = true;
    add_slow_step_remedies({20 * kMs, {read}}, program.report.steps.figures, Frameworks(trace), savings);
    return savings.remedies.at(0).by_library;
  };
  CHECK(is_librarys("/site-packages/torch/lib/libtorch_cuda.so"));
  CHECK_FALSE(is_librarys("/site-packages/cupy/_core/core.so"));
}

TEST_CASE("the causes that cost an irregular step most more than the others come first") {
  Report report;
  report.steps.figures.count = 12;
  report.steps.figures.irregular = 2;
  report.devices.emplace_back();
  const auto add = [&](const char* name, Nanoseconds irregular_ms, Nanoseconds steady_ms) {
    IdleCause& row = report.devices[0].causes.emplace_back();
    row.name = name;
    row.irregular_ns = irregular_ms * kMs;
    row.steady_ns = steady_ms * kMs;
  };
  add("long in all steps", 40, 180);  // 20 ms instead of 18
  add("new", 12, 0);                  // 6 ms instead of 0
  add("as in all steps", 4, 20);
  add("a little more", 6, 20);  // 3 ms instead of 2
  std::vector<std::string> names;
  for (const SlowCause& each : slow_causes(report, 3)) names.push_back(each.cause->name);
  CHECK(names == std::vector<std::string>{"new", "long in all steps", "a little more"});
  CHECK(slow_causes(report, 1).size() == 1);
}

}  // namespace synctrace::testing::slow_steps_test
