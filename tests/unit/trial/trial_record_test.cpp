// SPDX-License-Identifier: Apache-2.0
#include "trial/trial_record.h"

#include <string>

#include "support/catch.h"

using namespace synctrace;

namespace {

TimedTrial result() {
  TimedTrial result;
  result.after.command = "python3 \"train\".py\n--x";
  result.gpu = "NVIDIA H200";
  result.pairs = {{1.0, 0.9}, {1.0, 0.9}, {1.0, 0.9}};
  result.end = TrialEnd::kDecided;
  PredictedSaving saving;
  saving.change = 2;
  saving.title = "Read the loss one step later";
  saving.saving_s = 0.1;
  saving.low_s = 0.09;
  saving.high_s = 0.11;
  saving.steps_s = 1.0;
  result.prediction = compare_prediction(saving, 1.0, result.effect());
  return result;
}

}  // namespace

TEST_CASE("a row is read as it was written") {
  const TrialRow written = trial_row(result(), 17);
  const std::string text = row_text(written);
  CHECK(text.find('\n') == text.size() - 1);
  CHECK(text.starts_with(kTrialRowBegin));
  const auto rows = read_trial_rows(text + text);
  REQUIRE(rows);
  REQUIRE(rows.value().size() == 2);
  const TrialRow& read = rows.value().back();
  CHECK(row_text(read) == text);
  CHECK(read.program == result().after.command);
  CHECK(read.ended_ns == 17);
  CHECK(read.timed_ppm == 100'000);
  CHECK(read.predicted_ppm == 100'000);
  CHECK(read.predicted_lo_ppm == 90'000);
  CHECK(read.change == 2);
  CHECK(read.answer == "agrees");
  CHECK(read.verdict == "faster");
  CHECK(read.pairs == 3);
}

TEST_CASE("two pairs make no row") {
  TimedTrial few = result();
  few.pairs.pop_back();
  CHECK_FALSE(has_row(few));
  CHECK(has_row(result()));
}

TEST_CASE("without a prediction there is no change") {
  TimedTrial plain = result();
  plain.prediction.reset();
  const TrialRow row = trial_row(plain, 1);
  CHECK(row.change == 0);
  CHECK(row.answer.empty());
}

TEST_CASE("what is no row is refused by its line") {
  const std::string good = row_text(trial_row(result(), 1));
  for (const std::string& bad : {std::string("{}"), std::string("[1]"), std::string("x"), std::string(5'000, '['),
                                 std::string("{\"schema_version\":1}"), good.substr(0, 40)}) {
    const auto rows = read_trial_rows(good + "\n" + bad + "\n");
    REQUIRE_FALSE(rows);
    CHECK(rows.error().message.find("line 3") != std::string::npos);
  }
  std::string huge = good;
  huge.replace(huge.find("\"ended_ns\":1"), 12, "\"ended_ns\":18446744073709551615");
  CHECK_FALSE(read_trial_rows(huge));
  CHECK(read_trial_rows("").value().empty());
}
