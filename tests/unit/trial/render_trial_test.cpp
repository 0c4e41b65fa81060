// SPDX-License-Identifier: Apache-2.0
#include "trial/render_trial.h"

#include <algorithm>
#include <string>

#include "support/catch.h"
#include "trial/trial_words.h"

using namespace synctrace;

namespace {

TimedTrial result(double after) {
  TimedTrial result;
  result.before = {"python3 train.py", "HEAD", 0};
  result.after = {"python3 train.py", "HEAD with fix.diff", 0};
  result.pairs = {{1.0, after}, {1.001, after}, {1.0, after * 1.001}, {1.001, after}};
  result.end = TrialEnd::kDecided;
  result.limit_s = 300.0;
  result.taken_s = 9.0;
  return result;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the status follows the verdict") {
  CHECK(status_of(result(0.9)) == TrialStatus::kGood);
  CHECK(status_of(result(1.1)) == TrialStatus::kBad);
  CHECK(status_of(result(1.0)) == TrialStatus::kBad);  // no gain
  TimedTrial limited = result(1.0);
  limited.rule.slower_limit = 0.02;
  CHECK(status_of(limited) == TrialStatus::kGood);
  TimedTrial failed = result(0.9);
  failed.end = TrialEnd::kFailed;
  CHECK(status_of(failed) == TrialStatus::kFailed);
  TimedTrial few = result(0.9);
  few.pairs.resize(2);
  CHECK(status_of(few) == TrialStatus::kUndecided);
}

TEST_CASE("a faster program that does something else is no good") {
  TimedTrial different = result(0.9);
  different.same = ComparedOutput{"loss=(.*)", 0.0, "1.0", "1.1", false};
  CHECK(status_of(different) == TrialStatus::kBad);
  CHECK(has(render_trial_text(different), "different"));
  CHECK(has(render_trial_json(different), "\"different\": true"));
}

TEST_CASE("the text says what, how much and by what") {
  const std::string text = render_trial_text(result(0.9));
  CHECK(has(text, "synctrace try: faster: 10.0 % less time ("));
  CHECK(has(text, "decided by 4 pairs of runs in 9 s"));
  CHECK(has(text, "HEAD with fix.diff"));
  CHECK(std::count(text.begin(), text.end(), '\n') <= 8);
  CHECK(has(render_trial_text(result(1.1)), "slower: 10.0 % more time"));
  CHECK(has(render_trial_text(result(1.0)), "same within 1 %"));
}

TEST_CASE("noise beyond the limit is said, and is no pass") {
  TimedTrial noisy = result(1.0);
  noisy.pairs = {{1.0, 1.3}, {1.4, 1.0}, {1.1, 1.0}, {1.0, 1.2}};
  noisy.rule.slower_limit = 0.02;
  noisy.end = TrialEnd::kTimeLimit;
  CHECK(status_of(noisy) == TrialStatus::kUndecided);
  CHECK(has(render_trial_text(noisy), "the limit is 2 %: the runs differ too much among themselves"));
}

TEST_CASE("rates are shown as they were printed") {
  TimedTrial rate = result(0.9);
  rate.by_steps = true;
  rate.is_rate = true;
  rate.pairs = {{1.0 / 100.0, 1.0 / 125.0}, {1.0 / 100.0, 1.0 / 125.0}, {1.0 / 100.0, 1.0 / 125.0}};
  CHECK(has(render_trial_text(rate), "125"));
  CHECK(has(render_trial_text(rate), "faster: 20.0 % less time"));
}

TEST_CASE("texts of the program neither steer a terminal nor end a format") {
  TimedTrial hostile = result(0.9);
  hostile.after.command = "x\x1b[2J</testcase>\"`|\n#";
  hostile.notes = {"a\x07<b>\n| c"};
  for (const std::string& text : {render_trial_text(hostile), render_trial_markdown(hostile),
                                  render_trial_junit(hostile), render_trial_json(hostile)}) {
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\x07') == std::string::npos);
  }
  CHECK_FALSE(has(render_trial_junit(hostile), "[2J</testcase>"));
  CHECK_FALSE(has(render_trial_markdown(hostile), "<b>"));
}

TEST_CASE("JUnit has a failure for a bad end, and an error for none") {
  CHECK(has(render_trial_junit(result(0.9)), "failures=\"0\" errors=\"0\""));
  CHECK(has(render_trial_junit(result(1.1)), "<failure type=\"slower\""));
  TimedTrial few = result(0.9);
  few.pairs.clear();
  few.end = TrialEnd::kInterrupted;
  CHECK(has(render_trial_junit(few), "<error type=\"interrupted\""));
}

TEST_CASE("JSON has no numbers that are none") {
  TimedTrial few = result(0.9);
  few.pairs.resize(1);
  const std::string text = render_trial_json(few);
  CHECK(has(text, "\"low\": null"));
  CHECK(has(text, "\"verdict\": \"undecided\""));
  CHECK_FALSE(has(text, "inf"));
}
