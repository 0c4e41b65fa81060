// SPDX-License-Identifier: Apache-2.0
// Steps of an engine that serves requests: which classes there are, what each step is, and which steps are unusual
// then.
#include "steps/step_classes.h"

#include <string>
#include <string_view>
#include <vector>

#include "model/correlate.h"
#include "steps/step_candidates.h"
#include "steps/step_limits.h"
#include "support/catch.h"
#include "support/loops/parts.h"

namespace synctrace::testing::loops {
namespace {

constexpr std::size_t kSteps = 200;

struct Engine {
  std::size_t prefill_every = 8;
  std::size_t kernels = 40;   // in a prefill
  std::size_t decodes = 10;   // kernels in a decode
  std::size_t functions = 1;  // that prefill, in turns
  bool through_a_step = false;
  bool pauses = false;  // one decode takes as long as a prefill
  std::vector<bool> prefills{};
  Trace trace{};

  std::vector<TimeSpan> run() {
    Tape tape({}, 1);
    const std::size_t phase = tape.phase("serve");
    Frame module(tape, kUser, "<module>");
    module.at(3);
    Frame serve(tape, kUser, "serve");
    for (std::size_t i = 0; i < kSteps; ++i) {
      tape.begin_step(phase);
      serve.at(8);
      if (through_a_step) {
        Frame step(tape, kUser, "Engine.step");
        body(tape, step, i);
      } else {
        body(tape, serve, i);
      }
      tape.end_step(phase);
    }
    trace = tape.finish();
    return tape.phases()[phase].steps;
  }

  // The classes of the steps that it took.
  Steps found() {
    const std::vector<TimeSpan> spans = run();
    const Correlation correlation(trace);
    StepEvents events(trace);
    Steps steps;
    for (const TimeSpan span : spans) steps.steps.push_back({span});
    find_step_classes(events, UserCode(), number_of("serve", events), step_items(trace, correlation, {}), steps);
    measure_steps(trace, correlation, steps);
    return steps;
  }

 private:
  static std::uint32_t number_of(std::string_view function, StepEvents& events) {
    for (const StepEvents::Event& event : events.all()) {
      const auto& spots = events.spots(event.stack);
      for (std::size_t depth = 0; depth < spots.size(); ++depth) {
        if (events.frame(event.stack, depth).function == function) return spots[depth].function;
      }
    }
    return 0;
  }

  void body(Tape& tape, Frame& loop, std::size_t i) {
    const bool prefills_here = i * 2'654'435'761 / 256 % prefill_every == 1;  // requests come at any time
    prefills.push_back(prefills_here);
    if (prefills_here) {
      loop.at(10);
      part(tape, "Engine.prefill" + (functions == 1 ? std::string() : std::to_string(i / prefill_every % functions)),
           kernels);
    }
    loop.at(12);
    if (pauses && i == kSteps / 2) tape.host(10'000'000);
    part(tape, "Engine.decode", decodes);
    loop.at(14);
    tape.host(20'000);
  }

  static void part(Tape& tape, const std::string& function, std::size_t kernels) {
    Frame frame(tape, kUser, function);
    frame.at(2);
    tape.to_device(4'096);
    for (std::size_t k = 0; k < kernels; ++k) tape.kernel(function + "_kernel_" + std::to_string(k % 10), 20'000);
    frame.at(4);
    tape.to_host(8);
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("steps that call other functions are classes, with lengths of their own") {
  for (const bool through_a_step : {false, true}) {
    CAPTURE(through_a_step);
    Engine engine;
    engine.through_a_step = through_a_step;
    const Steps steps = engine.found();
    REQUIRE(steps.steps.size() == kSteps);
    REQUIRE(steps.classes == Names{"decode", "decode + prefill"});
    std::size_t irregular = 0;
    for (std::size_t i = 0; i < kSteps; ++i) {
      CHECK(static_cast<bool>(steps.steps[i].of_class) == static_cast<bool>(engine.prefills[i]));
      irregular += steps.steps[i].kind == StepKind::kIrregular ? 1U : 0U;
    }
    CHECK(irregular <= 1);  // the first is long
    const std::vector<ClassFigures> figures = class_figures_of(steps);
    REQUIRE(figures.size() == 2);
    CHECK(figures[0].count + figures[1].count + figures_of(steps).warm_up == kSteps);
    CHECK(figures[1].mean_ns > 3 * figures[0].mean_ns);
  }
}

TEST_CASE("a slow step is unusual in its own class") {
  Engine engine;
  engine.pauses = true;
  const Steps steps = engine.found();
  REQUIRE(steps.classes.size() == 2);
  CHECK(steps.steps[kSteps / 2].kind == StepKind::kIrregular);
  CHECK(figures_of(steps).irregular == 1);
}

TEST_CASE("a call that is rare, issues little, or is one of many makes no class") {
  Engine rare;
  rare.prefill_every = 2 * kSteps / (kRarestClass.of(2 * kSteps) + 2);
  CHECK(rare.found().classes.size() == 2);
  Engine rarer;
  rarer.prefill_every = 2 * rare.prefill_every;
  CHECK(rarer.found().classes.empty());
  Engine little;
  little.kernels = 0;
  little.decodes = 20;
  CHECK(little.found().classes.empty());
  Engine many;
  many.prefill_every = 2;
  many.functions = kMostClasses;
  CHECK(many.found().classes.empty());
  many.functions = kMostClasses - 1;
  many.prefills.clear();
  CHECK(many.found().classes.size() == kMostClasses);
}

}  // namespace synctrace::testing::loops
