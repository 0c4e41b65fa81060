// SPDX-License-Identifier: Apache-2.0
// Questions with several answers, predictions for the program without the recorder, and long runs judged by their
// middle.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "findings/middle_savings.h"
#include "support/catch.h"
#include "support/effort.h"
#include "support/generated_support.h"
#include "support/generator/random_program.h"
#include "support/replay_support.h"
#include "whatif/what_if.h"

namespace synctrace::testing::generator::what_if_choices_test {
namespace {

constexpr std::uint32_t kFirstWait = 1;
constexpr std::uint32_t kSecondWait = 2;
constexpr std::uint32_t kSteps = 20;

// Each step a kernel of 1 ms, two waits in a row for it, and 500 us of host time: only both waits together gain.
Program two_waits() {
  Program program;
  program.stream_devices = {0};
  for (std::uint32_t line = 1; line <= 4; ++line) program.places.push_back({0, line});
  std::vector<Action> script;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    script.push_back({Act::kStep, 0});
    script.push_back({Act::kLaunch, 0, 0, 1'000'000});
    script.push_back({Act::kStreamSync, kFirstWait});
    script.push_back({Act::kStreamSync, kSecondWait});
    script.push_back({Act::kCompute, 3, 500'000});
  }
  program.threads = {script};
  return program;
}

std::uint16_t wait_at(const std::vector<FixSite>& sites, std::uint32_t place) {
  for (std::uint16_t site = 1; site < sites.size(); ++site) {
    if (sites[site].key.family == FixFamily::kWait && sites[site].key.place == same_place(stack_of_place(place)))
      return site;
  }
  return 0;
}

// The answer to a question whose choices `make` makes of the two waits.
template <class Make>
WhatIf answer(Make make) {
  const Program program = two_waits();
  const Trace trace = load_generated(program, play(program, 1));
  WhatIfOptions options;
  options.asked = [&](const std::vector<FixSite>& sites) {
    return make(wait_at(sites, kFirstWait), wait_at(sites, kSecondWait));
  };
  return what_if(explain_generated(trace), same_place, options);
}

double share(const WhatIf& found, Nanoseconds ns) {
  return static_cast<double>(ns) / static_cast<double>(found.base_ns);
}

}  // namespace

TEST_CASE("of several ways the one that gains most is taken, and each is told with its gain") {
  const WhatIf found = answer([](std::uint16_t first, std::uint16_t second) {
    return std::vector<Choice>{{{{{first}}, {{first, second}}}, {}}};
  });
  REQUIRE(found.choices.size() == 1);
  CHECK(found.choices[0].taken == 1U);
  CHECK(found.asked_sites.size() == 2);
  CHECK(share(found, found.choices[0].ways[0].gain_ns) < 0.01);
  CHECK(share(found, found.choices[0].ways[1].gain_ns) > 0.25);
  REQUIRE(found.asked);
  CHECK(found.asked->ns == found.choices[0].ways[1].gain_ns);
}

TEST_CASE("of ways that gain alike the natural one is taken") {
  const WhatIf found = answer([](std::uint16_t first, std::uint16_t second) {
    return std::vector<Choice>{{{{{second}}, {{first}}}, {}}};
  });
  CHECK(found.choices[0].taken == 0U);
}

TEST_CASE("a way that has to be named is not taken where there is another") {
  const auto ask = [](bool alone) {
    return answer([alone](std::uint16_t first, std::uint16_t second) {
      const Way by_name{{first, second}, true, true};
      return alone ? std::vector<Choice>{{{by_name}, {}}} : std::vector<Choice>{{{{{first}}, by_name}, {}}};
    });
  };
  CHECK(ask(false).choices[0].taken == 0U);
  CHECK(ask(true).choices[0].taken == 0U);
  CHECK(share(ask(true), ask(true).asked->ns) > 0.25);
}

TEST_CASE("where what is natural is not legal and nothing else gains, nothing is taken") {
  const WhatIf found = answer([](std::uint16_t first, std::uint16_t second) {
    return std::vector<Choice>{{{{{first, second}, false}, {{first}}}, {}}};
  });
  CHECK_FALSE(found.choices[0].taken.has_value());
  CHECK(found.asked_sites.empty());
  CHECK(found.asked->ns == 0);
  CHECK(share(found, found.choices[0].ways[0].gain_ns) > 0.25);
}

// Each alone gains nothing, so each is chosen with the other fixed.
TEST_CASE("the lines of one question are chosen together") {
  const WhatIf found = answer([](std::uint16_t first, std::uint16_t second) {
    return std::vector<Choice>{{{{{first}}, {{}}}, {}}, {{{{second}}, {{}}}, {}}};
  });
  CHECK(found.choices[0].taken == 0U);
  CHECK(found.choices[1].taken == 0U);
  CHECK(share(found, found.asked->ns) > 0.25);
}

namespace {

// Short kernels, one after the other: the host is the limit.
Program launch_bound() {
  Program program;
  program.stream_devices = {0};
  program.places = {{0, 1}};
  std::vector<Action> script;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    script.push_back({Act::kStep, 0});
    for (int i = 0; i < 200; ++i) script.push_back({Act::kBurstLaunch, 0, 2'000, 2'000});
  }
  program.threads = {script};
  return program;
}

}  // namespace

TEST_CASE("predictions are for the program without the recorder; an unchanged replay still gives the recorded times") {
  const Program program = launch_bound();
  Trace trace = load_generated(program, play(program, 1));
  const WhatIf made = what_if(explain_generated(trace), same_place);
  CHECK(made.base_ns == made.recorded_ns);
  trace.facts["cupti_version"] = "130001";
  const Attribution attribution = explain_generated(trace);
  CHECK(replay_difference(attribution) == "");
  const WhatIf found = what_if(attribution, same_place);
  REQUIRE(found.refusal == "");
  CHECK(found.recorded_ns == made.recorded_ns);
  const Nanoseconds per_launch_ns = (found.recorded_ns - found.base_ns) / static_cast<Nanoseconds>(200 * found.steps);
  // 1 us of a call of 5 us, and half of the 2 us before it, in which a stack was taken.
  CHECK(per_launch_ns >= 1'950);
  CHECK(per_launch_ns <= 2'050);
  trace.facts["simulated"] = "1";
  CHECK(what_if(explain_generated(trace), same_place).base_ns == made.recorded_ns);
}

namespace {

// A random program of three steps, thirty times.
Program repeated(std::uint64_t seed) {
  constexpr std::uint32_t kTimes = 30;
  Program program = random_program(seed, 1, 3);
  const std::uint32_t tokens = program.tokens;
  for (std::vector<Action>& script : program.threads) {
    const std::vector<Action> once = script;
    for (std::uint32_t time = 1; time < kTimes; ++time) {
      for (Action action : once) {
        if (action.act == Act::kPost || action.act == Act::kBlock) action.object += time * tokens;
        script.push_back(action);
      }
    }
  }
  program.tokens *= kTimes;
  program.machine.host_jitter_percent = 15;
  return program;
}

}  // namespace

// What the report does with recordings that are too long to be run again as a whole.
TEST_CASE("savings from the middle of a run are those of the whole") {
  std::vector<double> errors;
  for (std::uint64_t seed = 1; seed <= effort(20); ++seed) {
    CAPTURE(seed);
    const Program program = repeated(seed);
    const Trace trace = load_generated(program, play(program, seed));
    const Attribution attribution = explain_generated(trace);
    const WhatIf whole = what_if(attribution, same_place);
    Nanoseconds looked_at_ns = 0;
    const std::size_t rows = trace.calls.size() + trace.launches.size() + trace.operations.size();
    const WhatIf middle = what_if_of_middle(trace, attribution, same_place, {}, rows / 3, looked_at_ns);
    REQUIRE(whole.refusal == "");
    REQUIRE(middle.refusal == "");
    CHECK(looked_at_ns < (trace.last_ns - trace.first_ns) / 2);
    CHECK(middle.steps == whole.steps);
    CHECK(std::abs(static_cast<double>(middle.base_ns - whole.base_ns)) < 0.01 * static_cast<double>(whole.base_ns));
    for (const Saving& saving : whole.savings) {
      const Saving* same = middle.of_site(middle.find(whole.sites[saving.site].key));
      const double of_middle = same == nullptr ? 0 : share(middle, same->alone.ns);
      errors.push_back(std::abs(of_middle - share(whole, saving.alone.ns)));
    }
  }
  if (!is_whole_effort()) return;  // too few to say how many are right
  REQUIRE(errors.size() > 20);
  std::sort(errors.begin(), errors.end());
  if (std::getenv("SYNCTRACE_SHOW") != nullptr) {
    WARN(errors.size() << " savings; median " << 100 * errors[errors.size() / 2] << " points, p90 "
                       << 100 * errors[errors.size() * 9 / 10] << ", worst " << 100 * errors.back());
  }
  CHECK(errors[errors.size() / 2] <= 0.0025);
  CHECK(errors[errors.size() * 9 / 10] <= 0.01);
}

TEST_CASE("a part of a run in which nothing happened is refused, and has no figures") {
  const Program program = repeated(1);
  const Trace trace = load_generated(program, play(program, 1));
  const Attribution attribution = explain_generated(trace);
  Nanoseconds looked_at_ns = 1;
  const WhatIf middle = what_if_of_middle(trace, attribution, same_place, {}, 0, looked_at_ns);
  CHECK(looked_at_ns == 0);
  CHECK(middle.refusal != "");
  CHECK(middle.base_ns == 0);
  CHECK(middle.recorded_ns == 0);
  CHECK(middle.all.ns == 0);
}

}  // namespace synctrace::testing::generator::what_if_choices_test
