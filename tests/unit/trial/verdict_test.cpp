// SPDX-License-Identifier: Apache-2.0
#include "trial/verdict.h"

#include <vector>

#include "support/catch.h"

using namespace synctrace;

TEST_CASE("the interval decides") {
  CHECK(judge(Effect{0.9, 0.85, 0.95}, {}) == TrialVerdict::kFaster);
  CHECK(judge(Effect{1.1, 1.05, 1.15}, {}) == TrialVerdict::kSlower);
  CHECK(judge(Effect{1.0, 0.991, 1.009}, {}) == TrialVerdict::kSame);
  CHECK(judge(Effect{1.0, 0.98, 1.009}, {}) == TrialVerdict::kUndecided);
  CHECK(judge(Effect{1.0, 0.991, 1.02}, {}) == TrialVerdict::kUndecided);
}

TEST_CASE("a small gain that is sure is a gain") {
  CHECK(judge(Effect{0.995, 0.993, 0.997}, {}) == TrialVerdict::kFaster);
  CHECK(judge(Effect{1.005, 1.003, 1.007}, {}) == TrialVerdict::kSlower);
}

TEST_CASE("with a limit, slower is beyond it") {
  const TrialRule rule{0.02};
  CHECK(judge(Effect{1.01, 1.005, 1.015}, rule) == TrialVerdict::kSame);
  CHECK(judge(Effect{1.04, 1.03, 1.05}, rule) == TrialVerdict::kSlower);
  CHECK(judge(Effect{0.9, 0.85, 0.95}, rule) == TrialVerdict::kFaster);
  CHECK(judge(Effect{0.99, 0.5, 1.015}, rule) == TrialVerdict::kSame);
}

TEST_CASE("noise beyond the limit is no pass") {
  const TrialRule rule{0.02};
  CHECK(judge(Effect{1.0, 0.9, 1.1}, rule) == TrialVerdict::kUndecided);
  CHECK(judge(Effect{1.01, 1.005, 1.03}, rule) == TrialVerdict::kUndecided);
}

TEST_CASE("two pairs decide nothing") {
  const std::vector<TimedPair> pairs = {{1.0, 0.5}, {1.0, 0.5}};
  CHECK(judge(pairs, {}) == TrialVerdict::kUndecided);
}
