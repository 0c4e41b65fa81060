// SPDX-License-Identifier: Apache-2.0
// The first pass over several recordings: how many are opened before they are taken for no job.
#include "recordings/job_search.h"

#include <string>
#include <vector>

#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/trace_maker.h"

namespace synctrace::testing::job_search_test {
namespace {

constexpr std::size_t kFiles = 20;

enum class Content { kNothing, kWork };

std::vector<std::byte> trace_with(Content content) {
  TraceBuilder builder;
  builder.schemas();
  builder.add(format::Context{kContext, DeviceId{0}, kNullStream});
  if (content == Content::kWork) {
    format::Kernel kernel;
    kernel.begin_ns = 1'000;
    kernel.duration_ns = 500;
    kernel.context = kContext;
    kernel.stream = kNullStream;
    builder.add(kernel);
  }
  return builder.bytes();
}

// One more of the files is not there.
FoundJob search(Content content, std::size_t files = kFiles) {
  const TemporaryFolder folder;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < files; ++i)
    paths.push_back(folder.write(std::to_string(i) + ".synctrace", trace_with(content)));
  paths.push_back(folder.path("none.synctrace"));
  return find_job_of(paths, {});
}

}  // namespace

TEST_CASE("of recordings with GPU work that talk to nobody, a few are opened") {
  const FoundJob found = search(Content::kWork);
  CHECK(found.together == Together::kNot);
  CHECK(found.findings == nullptr);
  CHECK(found.started.size() >= 8);
  CHECK(found.started.size() <= 10);  // two are open at once
  CHECK(found.errors.empty());
  CHECK(found.started.at(0) == TraceBuilder::kStartRealtimeNs);
}

TEST_CASE("recordings without GPU work are all opened: the next one may be a rank") {
  const FoundJob found = search(Content::kNothing);
  CHECK(found.together == Together::kNot);
  CHECK(found.started.size() == kFiles);
  REQUIRE(found.errors.size() == 1);
  CHECK(found.errors.begin()->first == kFiles);
}

TEST_CASE("one recording alone is not opened, two are") {
  CHECK(search(Content::kWork, 0).errors.empty());
  const FoundJob found = search(Content::kWork, 1);
  CHECK(found.started.size() == 1);
  CHECK(found.errors.size() == 1);
}

}  // namespace synctrace::testing::job_search_test
