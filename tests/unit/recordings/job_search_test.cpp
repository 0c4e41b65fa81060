// SPDX-License-Identifier: Apache-2.0
// The first pass over several recordings: how many are opened before they are taken for no job.
#include "recordings/job_search.h"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/trace_maker.h"

namespace synctrace::testing::job_search_test {
namespace {

constexpr std::size_t kFiles = 20;

enum class Content { kNothing, kWork, kExchange };
using Contents = std::vector<Content>;

std::vector<std::byte> trace_with(Content content) {
  TraceBuilder builder;
  builder.schemas();
  builder.add(format::Context{kContext, DeviceId{0}, kNullStream});
  builder.add(format::String{StringId{1}, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"});
  if (content != Content::kNothing) {
    format::Kernel kernel;
    kernel.begin_ns = 1'000;
    kernel.duration_ns = 500;
    kernel.context = kContext;
    kernel.stream = kNullStream;
    if (content == Content::kExchange) kernel.name = StringId{1};
    builder.add(kernel);
  }
  return builder.bytes();
}

// One more of the files is not there.
FoundJob search(const Contents& contents, const Asking& asking = {}) {
  const TemporaryFolder folder;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < contents.size(); ++i)
    paths.push_back(folder.write(std::to_string(i) + ".synctrace", trace_with(contents[i])));
  paths.push_back(folder.path("none.synctrace"));
  return find_job_of(paths, asking);
}

// So many without a partner, and one that talks at this place among them.
Contents silent_but(std::size_t talking) {
  Contents contents(kFiles, Content::kWork);
  contents[talking] = Content::kExchange;
  return contents;
}

// In several searches: where one thread is held up at a file, the other one goes on.
std::size_t fewest_opened(const Contents& contents) {
  std::size_t fewest = kFiles;
  for (int i = 0; i < 50 && fewest > 10; ++i) fewest = std::min(fewest, search(contents).started.size());
  return fewest;
}

}  // namespace

TEST_CASE("among recordings with GPU work that talk to nobody, a few are opened") {
  const FoundJob found = search(Contents(kFiles, Content::kWork));
  CHECK(found.together == Together::kNot);
  CHECK(found.findings == nullptr);
  CHECK(found.started.size() >= 8);
  CHECK(found.started.at(0) == TraceBuilder::kStartRealtimeNs);
  CHECK(fewest_opened(Contents(kFiles, Content::kWork)) <= 10);  // two are open at once
}

TEST_CASE("recordings without GPU work are all opened: the next one may be a rank") {
  const FoundJob found = search(Contents(kFiles, Content::kNothing));
  CHECK(found.together == Together::kNot);
  CHECK(found.started.size() == kFiles);
  REQUIRE(found.errors.size() == 1);
  CHECK(found.errors.begin()->first == kFiles);
}

TEST_CASE("all recordings are opened as soon as one of the first talks to others") {
  for (const std::size_t talking : {0, 7}) {
    const FoundJob found = search(silent_but(talking));
    CHECK(found.started.size() == kFiles);
    CHECK(found.errors.size() == 1);
  }
  CHECK(fewest_opened(silent_but(12)) <= 10);
}

TEST_CASE("who asks is told how many are opened, and when that is over") {
  std::size_t count = 0;
  int ended = 0;
  Asking asking;
  asking.begins = [&](std::size_t files) { count = files; };
  asking.ended = [&] { ++ended; };
  search(Contents(3, Content::kNothing), asking);
  CHECK(count == 4);
  CHECK(ended == 1);
}

TEST_CASE("one recording alone is not opened, two are") {
  CHECK(search({}).errors.empty());
  const FoundJob found = search({Content::kWork});
  CHECK(found.started.size() == 1);
  CHECK(found.errors.size() == 1);
}

}  // namespace synctrace::testing::job_search_test
