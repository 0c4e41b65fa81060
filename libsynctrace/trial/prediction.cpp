// SPDX-License-Identifier: Apache-2.0
#include "trial/prediction.h"

#include <algorithm>

#include "base/format_text.h"
#include "render/screen_lines.h"

namespace synctrace {
namespace {

double seconds(Nanoseconds ns) { return static_cast<double>(ns) / 1e9; }

// The recording counts ordinary steps, and a change is made to all.
double all_steps(const Report& report) {
  const double counted = static_cast<double>(report.savings.steps);
  const double all = static_cast<double>(report.steps.figures.count);
  return report.savings.by_steps && counted > 0.0 ? std::max(1.0, all / counted) : 1.0;
}

}  // namespace

Result<PredictedSaving> predicted_saving(const Report& report, std::size_t change, const std::string& trace) {
  const SavingsReport& savings = report.savings;
  if (!savings.refusal.empty()) return Error{trace + " promises nothing: " + savings.refusal};
  std::size_t number = 0;
  for (const Remedy& remedy : savings.remedies) {
    if (!is_worth_showing(report, remedy) || ++number != change) continue;
    const double scale = all_steps(report);
    PredictedSaving result;
    result.change = change;
    result.title = remedy.title;
    result.trace = trace;
    result.saving_s = seconds(remedy.alone.ns) * scale;
    result.low_s = seconds(remedy.alone.lo_ns) * scale;
    result.high_s = seconds(remedy.alone.hi_ns) * scale;
    result.steps_s = seconds(savings.base_ns) * scale;
    result.by_steps = savings.by_steps;
    return result;
  }
  if (number == 0) return Error{"the report of " + trace + " has no change; see synctrace report " + trace};
  return Error{format_text("--fix {}: the report of {} has {} change{}; see synctrace report {}", change, trace, number,
                           number == 1 ? "" : "s", trace)};
}

std::string_view agreement_words(Agreement agreement) noexcept {
  switch (agreement) {
    case Agreement::kAgrees: return "agrees";
    case Agreement::kLess: return "less";
    case Agreement::kMore: return "more";
    case Agreement::kUndecided: break;
  }
  return "cannot be decided in this time";
}

ComparedPrediction compare_prediction(const PredictedSaving& saving, double run_s, const Effect& effect) {
  ComparedPrediction result;
  result.saving = saving;
  result.of_steps = run_s <= 0.0;
  result.steps_share = result.of_steps ? 1.0 : saving.steps_s / run_s;
  const double whole_s = std::max(result.of_steps ? saving.steps_s : run_s, 1e-9);
  result.gain = saving.saving_s / whole_s;
  result.low = saving.low_s / whole_s;
  result.high = saving.high_s / whole_s;
  if (!result.is_comparable()) return result;
  const double least = 1.0 - effect.high;
  const double most = 1.0 - effect.low;
  if (most < result.low - kBesideRange) result.agreement = Agreement::kLess;
  if (least > result.high + kBesideRange) result.agreement = Agreement::kMore;
  const bool is_inside = least >= result.low - kBesideRange && most <= result.high + kBesideRange;
  if (is_inside) result.agreement = Agreement::kAgrees;
  return result;
}

}  // namespace synctrace
