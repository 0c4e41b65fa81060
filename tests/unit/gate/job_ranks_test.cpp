// SPDX-License-Identifier: Apache-2.0
// Which traces are one job, and which ranks of it are missing.
#include "gate/job_ranks.h"

#include "support/catch.h"

namespace synctrace {
namespace {

Observation rank_of(std::int64_t rank, std::vector<SeenCommunicator> communicators = {}, std::string job = {}) {
  Observation seen;
  seen.place = {rank, std::move(job), std::move(communicators)};
  return seen;
}

std::string missing_of(const GateJob& job) { return missing_text(job.ranks, job.expected); }

Observation member(std::uint32_t rank, std::uint32_t ranks) { return rank_of(rank, {{7, ranks, rank}}); }

}  // namespace

TEST_CASE("traces that share a communicator are one job") {
  const std::vector<Observation> all = {member(2, 4), rank_of(-1), member(0, 4)};
  const auto job = find_job(all);
  REQUIRE(job);
  CHECK(job->labels == std::vector<std::int64_t>{2, kNoJobRank, 0});
  CHECK(job->ranks == std::vector<std::int64_t>{0, 2});
  CHECK(job->expected == 4);
  CHECK(job->missing() == 2);
  CHECK(missing_of(*job) == "ranks 1, 3");
}

TEST_CASE("the largest communicator counts, not that of a group of ranks") {
  const std::vector<Observation> all = {rank_of(0, {{1, 2, 0}, {9, 8, 0}}), rank_of(1, {{1, 2, 1}, {9, 8, 1}})};
  REQUIRE(find_job(all));
  CHECK(find_job(all)->expected == 8);
  CHECK(missing_of(*find_job(all)) == "ranks 2-7");
}

TEST_CASE("without NCCL the launcher's name tells, where ranks differ") {
  const std::vector<Observation> all = {rank_of(1, {}, "9"), rank_of(0, {}, "9"), rank_of(0, {}, "8")};
  REQUIRE(find_job(all));
  CHECK(find_job(all)->ranks == std::vector<std::int64_t>{0, 1});
  CHECK(find_job(all)->missing() == 0);
  CHECK_FALSE(find_job(std::vector<Observation>{rank_of(0, {}, "9"), rank_of(1)}));
}

TEST_CASE("one trace is no job, nor are two runs of it") {
  CHECK_FALSE(find_job(std::vector<Observation>{member(0, 4)}));
  CHECK_FALSE(find_job(std::vector<Observation>{member(0, 4), member(1, 4), member(1, 4)}));
  CHECK_FALSE(find_job(std::vector<Observation>{member(0, 4), rank_of(1, {{8, 4, 1}})}));
}

TEST_CASE("which ranks are missing is said only where their numbers are known") {
  // The launcher counts the ranks of two jobs on, so the communicator's own numbers are others.
  const std::vector<Observation> all = {rank_of(12, {{7, 4, 0}}), rank_of(13, {{7, 4, 1}})};
  REQUIRE(find_job(all));
  CHECK(missing_of(*find_job(all)) == "2 ranks");
  // However many a damaged trace says there are.
  const std::vector<Observation> many = {member(0, 4'000'000'000), member(1, 4'000'000'000)};
  CHECK(missing_of(*find_job(many)) == "3,999,999,998 ranks");
}

}  // namespace synctrace
