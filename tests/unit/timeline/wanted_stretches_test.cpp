// SPDX-License-Identifier: Apache-2.0
// Stretches worth every slice: typical steps, the longest irregular one, and around the longest gaps of the first
// causes.
#include "timeline/page/wanted_stretches.h"
#include "attribution/attribute.h"

#include <vector>

#include "support/catch.h"

namespace synctrace::testing::wanted_stretches_test {
namespace {

constexpr Nanoseconds kMs = 1'000'000;

struct Scene {
  Attribution attribution;
  Report report;
  std::vector<page::DeviceOccurrences> occurrences;

  // One more cause of the last device.
  void add(const std::vector<TimeSpan>& longest, CauseKind kind = CauseKind::kStreamSync) {
    report.devices.back().causes.emplace_back().kind = kind;
    occurrences.back().idle.emplace_back().longest = longest;
  }

  void add_device() {
    report.devices.emplace_back();
    occurrences.emplace_back();
  }

  void add_step(TimeSpan host, Nanoseconds done_ns, StepKind kind) {
    attribution.steps.steps.push_back({host, done_ns, host.begin_ns, host.length_ns(), kind});
  }

  std::vector<TimeSpan> stretches() const { return page::wanted_stretches(attribution, report, occurrences); }
};

}  // namespace

TEST_CASE("the longest gap of a cause is wanted with two milliseconds on both sides") {
  Scene scene;
  scene.add_device();
  scene.add({{100 * kMs, 103 * kMs}, {200 * kMs, 207 * kMs}, {300 * kMs, 302 * kMs}});
  CHECK(scene.stretches() == std::vector<TimeSpan>{{198 * kMs, 209 * kMs}});
}

TEST_CASE("a gap is wanted up to 200 ms, and what has no gaps or lies at the edge is not counted") {
  Scene scene;
  scene.add_device();
  scene.add({});
  scene.add({{10 * kMs, 20 * kMs}}, CauseKind::kStartup);
  scene.add({{1'000 * kMs, 1'200 * kMs + 1}});
  scene.add({{2'000 * kMs, 2'200 * kMs}});
  scene.add({{3'000 * kMs, 3'001 * kMs}});
  scene.add({{4'000 * kMs, 4'001 * kMs}});
  scene.add({{5'000 * kMs, 5'001 * kMs}});
  CHECK(scene.stretches() ==
        std::vector<TimeSpan>{{1'998 * kMs, 2'202 * kMs}, {2'998 * kMs, 3'003 * kMs}, {3'998 * kMs, 4'003 * kMs}});
  scene.add_device();
  scene.add({{6'000 * kMs, 6'001 * kMs}});
  CHECK(scene.stretches().size() == 4);
  CHECK(scene.stretches().back() == TimeSpan{5'998 * kMs, 6'003 * kMs});
}

TEST_CASE("typical steps are wanted first, then the longest irregular one with its work") {
  Scene scene;
  scene.report.steps.figures.p50_ns = 100;
  for (const Nanoseconds begin_ns : {0, 100, 200})
    scene.add_step({begin_ns, begin_ns + 100}, begin_ns + 100, StepKind::kSteady);
  scene.add_step({300, 600}, 550, StepKind::kIrregular);
  scene.add_step({600, 1'000}, 1'050, StepKind::kIrregular);
  scene.add_step({1'100, 1'500}, 1'450, StepKind::kIrregular);
  CHECK(scene.stretches() == std::vector<TimeSpan>{{0, 300}, {600, 1'050}});
  scene.add_step({1'500, 2'000}, 1'950, StepKind::kIrregular);
  CHECK(scene.stretches() == std::vector<TimeSpan>{{0, 300}, {1'500, 2'000}});
}

TEST_CASE("work of typical steps that ends after them belongs to them if it takes less than a step") {
  const auto opening = [](Nanoseconds done_ns) {
    Scene scene;
    scene.report.steps.figures.p50_ns = 100;
    scene.add_step({0, 100}, done_ns, StepKind::kSteady);
    return page::typical_steps(scene.attribution, scene.report);
  };
  CHECK(opening(90) == TimeSpan{0, 100});
  CHECK(opening(199) == TimeSpan{0, 199});
  CHECK(opening(200) == TimeSpan{0, 100});
}

TEST_CASE("of steps that are as near to the median as others, the first are the typical ones") {
  Scene scene;
  scene.report.steps.figures.p50_ns = 100;
  for (Nanoseconds begin_ns = 0; begin_ns < 600; begin_ns += 100)
    scene.add_step({begin_ns, begin_ns + 100}, begin_ns + 100, StepKind::kSteady);
  CHECK(page::typical_steps(scene.attribution, scene.report) == TimeSpan{0, 300});
}

}  // namespace synctrace::testing::wanted_stretches_test
