// SPDX-License-Identifier: Apache-2.0
// Which ranks of a job left no recording, and how ranks are named.
#include "findings/job/missing_ranks.h"

#include "support/catch.h"

namespace synctrace {
namespace {

using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("ranks that left no recording are named") {
  CHECK(missing_ranks(Numbers{0, 2, 5}, 8) == Numbers{1, 3, 4, 6, 7});
  CHECK(missing_ranks(Numbers{0, 1}, 2).empty());
  CHECK(missing_text(Numbers{1, 2, 3}, 4) == "rank 0");
  CHECK(missing_text(Numbers{0, 3}, 6) == "ranks 1-2, 4-5");
}

TEST_CASE("where their numbers are not known they are counted") {
  CHECK(missing_ranks(Numbers{-1, 1}, 3).empty());  // a rank without a number
  CHECK(missing_ranks(Numbers{1, 1}, 4).empty());
  CHECK(missing_ranks(Numbers{12, 13}, 4).empty());  // numbers of a larger job
  CHECK(missing_ranks(Numbers{0}, 1'000).empty());   // too many to name
  CHECK(missing_text(Numbers{12, 13}, 4) == "2 ranks");
  CHECK(missing_text(Numbers{12, 13, 14}, 4) == "1 rank");
  CHECK(missing_text(Numbers{0}, 4'000'000'000) == "3,999,999,999 ranks");
  CHECK(missing_text({}, 2) == "2 ranks");
}

TEST_CASE("ranks that follow each other are one word") {
  CHECK(ranks_text(Numbers{3}) == "rank 3");
  CHECK(ranks_text(Numbers{0, 1, 2, 3}) == "ranks 0-3");
  CHECK(ranks_text(Numbers{0, 1, 2, 5, 7, 8}) == "ranks 0-2, 5, 7-8");
  CHECK(ranks_text(Numbers{0, 2, 4, 6, 8, 10, 12, 14}) == "ranks 0, 2, 4, 6, 8, 10 and 2 more");
}

}  // namespace synctrace
