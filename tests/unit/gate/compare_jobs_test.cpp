// SPDX-License-Identifier: Apache-2.0
// How many ranks two jobs are told apart by.
#include "gate/compare_jobs.h"

#include <string>

#include "support/catch.h"

namespace synctrace {
namespace {

std::string text_of(std::size_t changed) {
  ComparedJobs jobs;
  jobs.ranks[0] = jobs.ranks[1] = 16;
  for (std::size_t i = 0; i < changed; ++i)
    jobs.changed.push_back({std::to_string(i), RankTimes{}, RankTimes{0, 1'000'000, 0}});
  return compared_jobs_text(jobs);
}

}  // namespace

TEST_CASE("eight ranks are shown, and of more how many these are") {
  CHECK(text_of(8).find("rank 7 waits for others") != std::string::npos);
  CHECK(text_of(8).find("more") == std::string::npos);
  CHECK(text_of(10).ends_with("      and 2 ranks more\n"));
}

}  // namespace synctrace
