// SPDX-License-Identifier: Apache-2.0
// A timeline tells what one rank of a job needs of the others: whom it waits for, and its clock.
#include "timeline/page/timeline.h"
#include "attribution/attribute.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing::timeline_test {
namespace {

struct Scene {
  Trace trace;
  Attribution attribution;
  Report report;
  RankLane rank;

  Scene() {
    trace.last_ns = 1'000;
    for (Nanoseconds begin_ns = 10; begin_ns <= 200; begin_ns += 10)
      trace.calls.emplace_back().span = {begin_ns, begin_ns + 5};
    rank.operations = {"AllReduce"};
    rank.labels[6] = "5";
  }
};

}  // namespace

TEST_CASE("a rank's timeline names the rank that a slice waits for, where that is known") {
  const Scene scene;
  const page::Timeline timeline(scene.trace, scene.attribution, scene.report, &scene.rank);
  const auto waits_for = [&](std::uint32_t rank) {
    return timeline.waits_for(page::slice_name(page::SliceKind::kRankWait, timeline::exchange_number(0, rank)));
  };
  CHECK(waits_for(6) == "5");
  CHECK(waits_for(5).empty());
  CHECK(timeline.text_of(page::slice_name(page::SliceKind::kRankWait, timeline::exchange_number(0, 6))) == "AllReduce");
}

TEST_CASE("a timeline is on the job's clock only where the rank's own was measured against it") {
  Scene scene;
  scene.rank.clock.offset_ns = 7;
  const auto on_job = [&](const RankLane* rank) {
    return page::Timeline(scene.trace, scene.attribution, scene.report, rank).clock().on_job;
  };
  CHECK_FALSE(on_job(nullptr));
  CHECK_FALSE(on_job(&scene.rank));
  scene.rank.clock.known = true;
  REQUIRE(on_job(&scene.rank));
  CHECK(on_job(&scene.rank)->offset_ns == 7);
}

TEST_CASE("a stretch that other ranks show is kept slice by slice, an empty one is none") {
  const Scene scene;
  const auto stretches = [&](TimeSpan wanted) {
    return page::Timeline(scene.trace, scene.attribution, scene.report, &scene.rank, wanted).detail(10).stretches;
  };
  CHECK(stretches({5, 30}) == std::vector<TimeSpan>{{5, 30}});
  CHECK(stretches({15, 15}).empty());
}

}  // namespace synctrace::testing::timeline_test
