// SPDX-License-Identifier: Apache-2.0
// What a finding is called, what its counts are said to be of, and the sentence for all that its calls may have done.
#include "gate/gate_words.h"

#include <string>

#include "support/catch.h"

namespace synctrace::gate_words_test {
namespace {

Finding some_finding() {
  Finding finding;
  finding.function = "cudaStreamSynchronize";
  finding.figures.calls = 120;
  finding.figures.waited = 100;
  finding.figures.host_blocked_ns = 5'000'000;
  finding.per_step = 120;
  finding.shares.resize(1);
  return finding;
}

Finding finding() {
  Finding finding;
  finding.function = "cudaStreamSynchronize";
  finding.per_step = 2;
  finding.shares.resize(1);
  finding.figures.calls = 10;
  return finding;
}

}  // namespace

TEST_CASE("a place without a file is a function, however long its name is") {
  Finding finding = some_finding();
  CHECK(place_text(finding) == "cudaStreamSynchronize");
  finding.where.function = "void at::native::(anonymous namespace)::fill<float, " + std::string(300, 'x') + ">(float*)";
  CHECK(place_text(finding) == "at::native::fill<..>");
  finding.where.function = "ns::" + std::string(300, 'x') + "::step";
  CHECK(place_text(finding) == "..::step");
  finding.path = "train.cu";
  finding.where.line = 88;
  CHECK(place_text(finding) == "train.cu:88");
}

TEST_CASE("a count is of a step only where there are steps") {
  Finding finding = some_finding();
  const std::string begin = "the host waits for the GPU: 100 of 120 calls waited, for 5.0 ms, ";
  CHECK(finding_message(finding) == begin + "120 a step at most; cudaStreamSynchronize");
  finding.counted_in = CountedIn::kOutside;
  CHECK(finding_message(finding) == begin + "120 outside of the steps; cudaStreamSynchronize");
  finding.counted_in = CountedIn::kRecording;
  CHECK(finding_message(finding) == begin + "120 in all; cudaStreamSynchronize");
  finding.shares.resize(2);
  finding.per_step = 60;
  CHECK(finding_message(finding) == begin + "60 in one process at most, in 2 processes; cudaStreamSynchronize");
}

TEST_CASE("what the calls of a place did") {
  const std::string end = ", 2 a step at most; cudaStreamSynchronize";
  Finding shown = finding();
  CHECK(finding_message(shown) == "never waited (10 calls)" + end);
  shown.figures.redundant = 1;
  CHECK(finding_message(shown) == "there was never anything to wait for (10 calls)" + end);
  shown.figures.own_copy = 1;
  CHECK(finding_message(shown) == "waited for nothing but its own copy (10 calls)" + end);
  shown.figures.unclear = 3;
  CHECK(finding_message(shown) == "perhaps a wait: 3 of 10 calls took long while the GPU was busy" + end);
  shown.figures.waited = 1;
  shown.figures.host_blocked_ns = 1'500'000;
  CHECK(finding_message(shown) == "the host waits for the GPU: 1 of 10 calls waited, for 1.5 ms" + end);
  shown.strict = true;
  shown.figures.calls = 1;
  CHECK(finding_message(shown) == "synchronises where nothing may: 1 call" + end);
  shown.zone = "forward";
  CHECK(finding_message(shown) == "synchronises where nothing may (forward): 1 call" + end);
}

TEST_CASE("a place that only lengths accuse says so, unless it is an error") {
  Finding shown = finding();
  shown.figures.waited = 2;
  shown.figures.waited_by_length = 2;
  const auto says_so = [&] { return finding_message(shown).find(" (judged by length), ") != std::string::npos; };
  CHECK_FALSE(says_so());
  shown.level = GateLevel::kWarning;
  CHECK(says_so());
  shown.figures.waited_by_length = 1;
  CHECK_FALSE(says_so());
  shown.figures.waited_by_length = 2;
  shown.status = FindingStatus::kAllowed;
  CHECK_FALSE(says_so());
}

TEST_CASE("ranks of a job are named") {
  Finding shown = finding();
  shown.shares.resize(4);
  shown.ranks = {1};
  CHECK(finding_message(shown) == "never waited (10 calls), 2 a step at most, rank 1 only; cudaStreamSynchronize");
  shown.ranks = {0, 1, 2, 3};
  CHECK(finding_message(shown) == "never waited (10 calls), 2 a step at most, ranks 0-3; cudaStreamSynchronize");
  shown.counted_in = CountedIn::kRecording;
  CHECK(finding_message(shown) == "never waited (10 calls), 2 on one rank at most, ranks 0-3; cudaStreamSynchronize");
}

TEST_CASE("several processes are named, and what is wrong with an entry") {
  Finding shown = finding();
  shown.shares.resize(3);
  shown.reason = "the baseline has 1 a step";
  CHECK(finding_message(shown) ==
        "never waited (10 calls), 2 a step at most, in 3 processes; cudaStreamSynchronize; the baseline has 1 a step");
  shown.status = FindingStatus::kAllowed;
  CHECK(finding_message(shown).ends_with("; cudaStreamSynchronize"));
}

}  // namespace synctrace::gate_words_test
