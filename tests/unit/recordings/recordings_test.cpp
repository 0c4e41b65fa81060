// SPDX-License-Identifier: Apache-2.0
// Recordings of which some are ranks of one job: which file is which rank, in which order reports are finished, and
// what cannot be read.
#include "recordings/recordings.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/generator/job.h"
#include "support/temporary_folder.h"
#include "support/trace_builder.h"

namespace synctrace::testing::recordings_test {
namespace {

using Files = std::vector<std::size_t>;

// File 0 is of no rank, 1 and 3 are ranks 1 and 0, and 2 is not there.
class Scene {
 public:
  // Rank 0 is late in each step, by so much.
  explicit Scene(Nanoseconds late_ns = 0) {
    generator::JobProgram program;
    if (late_ns > 0) program.faults = {{generator::Fault::What::kHostCode, 0, late_ns}};
    const generator::JobRun run = generator::play_job(program, 17);
    TraceBuilder other;
    other.schemas();
    files_ = {folder_.write("other.synctrace", other.bytes()), folder_.write("one.synctrace", run.traces.at(1)),
              folder_.path("none.synctrace"), folder_.write("zero.synctrace", run.traces.at(0))};
  }

  const std::vector<std::string>& files() const { return files_; }
  Asking& asking() { return asking_; }

 private:
  TemporaryFolder folder_;
  std::vector<std::string> files_;
  Asking asking_;
};

}  // namespace

TEST_CASE("ranks of a job are found whatever their order, and go by their labels") {
  Scene scene;
  std::vector<std::string> unreadable;
  scene.asking().cannot_read = [&](const std::string& path, const Error&) { unreadable.push_back(path); };
  Recordings recordings(scene.files(), scene.asking());
  CHECK(recordings.all() == Files{0, 1, 2, 3});
  CHECK_FALSE(recordings.is_job());
  CHECK_FALSE(recordings.rank_of(1));
  REQUIRE(recordings.find_job() == Together::kOneJob);
  CHECK(recordings.is_job());
  CHECK(unreadable == std::vector<std::string>{scene.files()[2]});
  CHECK(recordings.unreadable() == 1);
  CHECK(recordings.file_of(0) == 3);
  CHECK(recordings.file_of(1) == 1);
  CHECK(recordings.rank_of(3) == 0U);
  CHECK(recordings.rank_of(1) == 1U);
  CHECK_FALSE(recordings.rank_of(0));
  CHECK(recordings.rank_called("0") == 0U);
  CHECK(recordings.rank_called("1") == 1U);
  CHECK_FALSE(recordings.rank_called("2"));
  CHECK(recordings.ranks_and_others() == Files{3, 1, 0});
}

TEST_CASE("reports are finished in the order of the files, those of ranks with the facts of their job") {
  Scene scene;
  Recordings recordings(scene.files(), scene.asking());
  recordings.find_job();
  std::vector<std::pair<std::size_t, bool>> finished;
  Visit visit;
  visit.files = {1, 2, 0, 3};
  visit.finish = [&](std::size_t file, const Report& report) {
    finished.emplace_back(file, report.in_job.has_value());
  };
  CHECK(recordings.visit(visit));
  CHECK(finished == std::vector<std::pair<std::size_t, bool>>{{1, true}, {0, false}, {3, true}});
  CHECK(recordings.unreadable() == 1);
}

TEST_CASE("the rank that made others late is opened first, where the job is to be examined") {
  for (const bool examines : {true, false}) {
    Scene scene(3'000'000);
    Recordings recordings(scene.files(), scene.asking());
    REQUIRE(recordings.find_job() == Together::kOneJob);
    Files seen;
    Visit visit;
    visit.files = {1, 0, 3};
    visit.examines = examines;
    visit.see = [&](OpenRecording& one) {
      seen.push_back(one.file());
      return true;
    };
    CHECK(recordings.visit(visit));
    CHECK(seen == (examines ? Files{3, 1, 0} : Files{1, 0, 3}));
  }
}

TEST_CASE("a visit opens its leader first, and ends where it is told to") {
  Scene scene;
  Recordings recordings(scene.files(), scene.asking());
  Files seen;
  Visit visit;
  visit.files = {0, 1, 3};
  visit.leader = 3;
  visit.see = [&](OpenRecording& one) {
    seen.push_back(one.file());
    return one.file() != 0;
  };
  CHECK_FALSE(recordings.visit(visit));
  CHECK(seen == Files{3, 0});
}

TEST_CASE("the earliest begin is that of the files that can be read") {
  Scene scene;
  Recordings recordings(scene.files(), scene.asking());
  CHECK(recordings.earliest_start({2}) == 0);
  CHECK(recordings.earliest_start({0, 2}) == TraceBuilder::kStartRealtimeNs);
  const format::FileHeader header = format::make_file_header(1'000, 42);
  const TemporaryFolder folder;
  const std::string early = folder.write("early.synctrace", std::as_bytes(std::span(&header, 1)));
  Recordings both({scene.files()[0], early, scene.files()[0]}, scene.asking());
  CHECK(both.earliest_start({0, 1, 2}) == 1'000);
}

}  // namespace synctrace::testing::recordings_test
