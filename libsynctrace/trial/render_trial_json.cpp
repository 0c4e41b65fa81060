// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>
#include <vector>

#include "base/json.h"
#include "trial/render_trial.h"
#include "trial/trial_words.h"

namespace synctrace {
namespace {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json side_of(const TimedTrial& result, const TrialSide& side, double middle) {
  return {{"command", side.command},
          {"state", side.state.empty() ? Json(nullptr) : Json(side.state)},
          {"figure", result.pairs.empty() ? Json(nullptr) : number(shown_figure(result, middle))},
          {"exit_status", side.exit_status ? Json(*side.exit_status) : Json(nullptr)}};
}

Json prediction_of(const TimedTrial& result) {
  if (!result.prediction) return nullptr;
  const ComparedPrediction& prediction = *result.prediction;
  return {{"change", prediction.saving.change},
          {"title", prediction.saving.title},
          {"trace", prediction.saving.trace},
          {"of", prediction.of_steps ? "step" : "run"},
          {"steps_share", number(prediction.steps_share)},
          {"gain",
           {{"value", number(prediction.gain)}, {"low", number(prediction.low)}, {"high", number(prediction.high)}}},
          {"answer", answer_words(prediction)}};
}

Json same_of(const TimedTrial& result) {
  if (!result.same) return nullptr;
  const ComparedOutput& same = *result.same;
  return {{"pattern", same.pattern},
          {"tolerance", number(same.tolerance)},
          {"before", same.before},
          {"after", same.after},
          {"equal", same.is_equal}};
}

}  // namespace

std::string render_trial_json(const TimedTrial& result) {
  const Effect effect = result.effect();
  const bool is_timed = !result.pairs.empty();
  const bool is_known = result.pairs.size() >= kFewestPairs;
  Json pairs = Json::array();
  for (const TimedPair& pair : result.pairs) {
    pairs.push_back({{"before", shown_figure(result, pair.before)}, {"after", shown_figure(result, pair.after)}});
  }
  const Json gain = {{"value", is_timed ? number(1.0 - effect.ratio) : Json(nullptr)},
                     {"low", is_known ? number(1.0 - effect.high) : Json(nullptr)},
                     {"high", is_known ? number(1.0 - effect.low) : Json(nullptr)}};
  const Json root = {{"schema_version", kTrialSchemaVersion},
                     {"tool", "synctrace try"},
                     {"verdict", verdict_word(result.verdict())},
                     {"status", static_cast<int>(status_of(result))},
                     {"different", result.is_different()},
                     {"gain", gain},
                     {"figure", result.by_steps ? "step" : "run"},
                     {"higher_is_better", result.is_rate},
                     {"before", side_of(result, result.before, middle_before(result))},
                     {"after", side_of(result, result.after, middle_after(result))},
                     {"pairs", pairs},
                     {"fail_if_slower", result.rule.slower_limit ? Json(*result.rule.slower_limit) : Json(nullptr)},
                     {"prediction", prediction_of(result)},
                     {"same", same_of(result)},
                     {"end", end_word(result.end)},
                     {"failure", result.failure.empty() ? Json(nullptr) : Json(result.failure)},
                     {"seconds", result.taken_s},
                     {"time_limit_seconds", result.limit_s},
                     {"gpu", result.gpu.empty() ? Json(nullptr) : Json(result.gpu)},
                     {"notes", result.notes}};
  return root.dump(1) + "\n";
}

}  // namespace synctrace
