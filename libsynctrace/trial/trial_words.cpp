// SPDX-License-Identifier: Apache-2.0
#include "trial/trial_words.h"

#include <cmath>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "base/shown_text.h"
#include "render/columns.h"

namespace synctrace {
namespace {

double percent(double share) { return 100.0 * share; }

// "0.4 % less" or "1.1 % more"
std::string change_words(double ratio) {
  return format_text("{:.1f} % {}", std::fabs(percent(1.0 - ratio)), ratio <= 1.0 ? "less" : "more");
}

std::string range_of(const Effect& effect) {
  return change_words(effect.low) + " to " + change_words(effect.high) + " time";
}

std::string_view part_words(const ComparedPrediction& prediction) {
  if (!prediction.of_steps) return "a run";
  return prediction.saving.by_steps ? "a step" : "the recorded time";
}

}  // namespace

std::string_view answer_words(const ComparedPrediction& prediction) noexcept {
  return prediction.is_comparable() ? agreement_words(prediction.agreement) : "cannot be compared";
}

std::string verdict_sentence(const TimedTrial& result) {
  if (result.end == TrialEnd::kFailed) return "failed: " + result.failure;
  if (result.same && !result.same->is_equal) return "different: the output is not the same on both sides";
  if (result.is_different()) return "different: " + result.failure;
  const Effect effect = result.effect();
  const auto limit = result.rule.slower_limit;
  switch (result.verdict()) {
    case TrialVerdict::kFaster:
      return format_text("faster: {:.1f} % less time ({:.1f} to {:.1f} %)", percent(1.0 - effect.ratio),
                         percent(1.0 - effect.high), percent(1.0 - effect.low));
    case TrialVerdict::kSlower:
      return format_text("slower: {:.1f} % more time ({:.1f} to {:.1f} %)", percent(effect.ratio - 1.0),
                         percent(effect.low - 1.0), percent(effect.high - 1.0));
    case TrialVerdict::kSame:
      if (limit) return format_text("not slower by more than {:.4g} %: {}", percent(*limit), range_of(effect));
      return format_text("same within {:.0f} %: {}", percent(kSameWithin), range_of(effect));
    case TrialVerdict::kUndecided: break;
  }
  if (result.pairs.size() < kFewestPairs)
    return format_text("undecided: {} pair{} of runs {} too few; {} are needed at least", result.pairs.size(),
                       result.pairs.size() == 1 ? "" : "s", result.pairs.size() == 1 ? "is" : "are", kFewestPairs);
  if (limit)
    return format_text("undecided: {}, and the limit is {:.4g} %: the runs differ too much among themselves",
                       range_of(effect), percent(*limit));
  return "undecided: " + range_of(effect);
}

std::string_view end_word(TrialEnd end) noexcept {
  switch (end) {
    case TrialEnd::kDecided: return "decided";
    case TrialEnd::kTimeLimit: return "time-limit";
    case TrialEnd::kManyPairs: return "many-pairs";
    case TrialEnd::kInterrupted: return "interrupted";
    case TrialEnd::kFailed: return "failed";
    case TrialEnd::kDifferent: break;
  }
  return "different";
}

std::string end_sentence(const TimedTrial& result) {
  const std::string pairs = format_text("{} pair{} of runs in {:.0f} s", result.pairs.size(),
                                        result.pairs.size() == 1 ? "" : "s", result.taken_s);
  switch (result.end) {
    case TrialEnd::kDecided: return "decided by " + pairs;
    case TrialEnd::kTimeLimit: return pairs + format_text(", the time limit is {:.0f} s", result.limit_s);
    case TrialEnd::kManyPairs: return pairs + ", more are not made";
    case TrialEnd::kInterrupted: return "interrupted after " + pairs;
    case TrialEnd::kFailed: return "after " + pairs;
    case TrialEnd::kDifferent: break;
  }
  return "nothing was timed";
}

std::string figure_text(const TimedTrial& result, double time) {
  if (result.by_steps) return format_text("{:.6g}", shown_figure(result, time));
  return duration_text(static_cast<Nanoseconds>(time * 1e9));
}

std::string figure_words(const TimedTrial& result) {
  if (!result.by_steps) return "the time of the whole run";
  return "what --step '" + result.pattern + "' finds, the middle one of a run" +
         (result.is_rate ? "; it is a rate" : "");
}

std::string prediction_sentence(const ComparedPrediction& prediction) {
  const PredictedSaving& saving = prediction.saving;
  std::string text = format_text(
      "{:.1f} % less ({:.1f} to {:.1f} %) of {} by change {} of {}: ", percent(prediction.gain),
      percent(prediction.low), percent(prediction.high), part_words(prediction), saving.change, saving.trace);
  if (!prediction.is_comparable())
    return text + "cannot be compared, the recorded steps took longer than a run takes here";
  text += agreement_words(prediction.agreement);
  if (!prediction.of_steps)
    text += format_text("; its steps are {:.0f} % of a run", std::fmin(100.0, percent(prediction.steps_share)));
  return text;
}

std::string same_sentence(const ComparedOutput& same) {
  constexpr std::size_t kValueColumns = 40;
  const auto shown = [](const std::string& value) {
    return value.empty() ? "nothing" : fitted(printable(value), kValueColumns);
  };
  if (same.is_equal) return shown(same.after) + " on both sides";
  return shown(same.before) + " and " + shown(same.after) + ", which differ";
}

}  // namespace synctrace
