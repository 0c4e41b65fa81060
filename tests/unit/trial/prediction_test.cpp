// SPDX-License-Identifier: Apache-2.0
#include "trial/prediction.h"

#include <string>

#include "support/catch.h"

using namespace synctrace;

namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

Remedy remedy(const std::string& title, double saving_s) {
  const auto ns = [](double seconds) { return static_cast<Nanoseconds>(seconds * 1e9); };
  Remedy remedy;
  remedy.title = title;
  remedy.alone = {ns(saving_s), ns(0.9 * saving_s), ns(1.1 * saving_s), Grade::kHigh};
  remedy.marginal = remedy.alone;
  remedy.cumulative = remedy.alone;
  return remedy;
}

// 80 of 100 steps are counted, 8 s of 10.
Report report() {
  Report report;
  report.savings.by_steps = true;
  report.savings.steps = 80;
  report.savings.base_ns = 8 * kSecond;
  report.steps.figures.count = 100;
  report.savings.remedies = {remedy("First", 0.8), remedy("Nothing", 0.0), remedy("Second", 0.4)};
  return report;
}

PredictedSaving saving() { return predicted_saving(report(), 1, "run.synctrace").value(); }

bool is_close(double value, double wanted) { return value > wanted - 1e-6 && value < wanted + 1e-6; }

}  // namespace

TEST_CASE("changes have the numbers that the report shows") {
  CHECK(saving().title == "First");
  CHECK(predicted_saving(report(), 2, "t").value().title == "Second");
  const auto none = predicted_saving(report(), 3, "t");
  REQUIRE_FALSE(none);
  CHECK(none.error().message.find("has 2 changes") != std::string::npos);
}

TEST_CASE("a report that refuses to predict promises nothing") {
  Report refusing = report();
  refusing.savings.refusal = "there is no timeline.";
  CHECK_FALSE(predicted_saving(refusing, 1, "t"));
}

TEST_CASE("of a step it is the share of the steps") {
  const ComparedPrediction compared = compare_prediction(saving(), 0.0, {0.9, 0.895, 0.905});
  CHECK(is_close(compared.gain, 0.1));
  CHECK(is_close(compared.low, 0.09));
  CHECK(is_close(compared.high, 0.11));
  CHECK(compared.agreement == Agreement::kAgrees);
}

TEST_CASE("of a run it is less by the time that is no step") {
  const ComparedPrediction compared = compare_prediction(saving(), 20.0, {0.95, 0.947, 0.953});
  CHECK(is_close(compared.steps_share, 0.5));
  CHECK(is_close(compared.gain, 0.05));
  CHECK(compared.agreement == Agreement::kAgrees);
}

TEST_CASE("a recording of longer runs is not compared") {
  const ComparedPrediction compared = compare_prediction(saving(), 5.0, {0.95, 0.947, 0.953});
  CHECK_FALSE(compared.is_comparable());
  CHECK(compared.agreement == Agreement::kUndecided);
}

TEST_CASE("beyond the range and a hundredth it is less, or more") {
  CHECK(compare_prediction(saving(), 0.0, {0.95, 0.94, 0.96}).agreement == Agreement::kLess);
  CHECK(compare_prediction(saving(), 0.0, {0.8, 0.79, 0.81}).agreement == Agreement::kMore);
  CHECK(compare_prediction(saving(), 0.0, {0.92, 0.90, 0.94}).agreement == Agreement::kUndecided);
  CHECK(compare_prediction(saving(), 0.0, {0.915, 0.912, 0.918}).agreement == Agreement::kAgrees);
}
