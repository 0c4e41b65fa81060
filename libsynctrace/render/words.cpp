// SPDX-License-Identifier: Apache-2.0
#include "render/words.h"

#include "base/format_text.h"
#include "base/quantity_text.h"

namespace synctrace {

std::string_view verdict_word(SiteVerdict verdict) noexcept {
  if (verdict == SiteVerdict::kOwnCopy) return "own copy only";
  if (verdict == SiteVerdict::kSometimes) return "sometimes";
  return verdict == SiteVerdict::kNoWait ? "no wait" : verdict_token(verdict);
}

std::string_view verdict_token(SiteVerdict verdict) noexcept {
  switch (verdict) {
    case SiteVerdict::kWaits: return "waits";
    case SiteVerdict::kSometimes: return "sometimes-waits";
    case SiteVerdict::kRedundant: return "redundant";
    case SiteVerdict::kOwnCopy: return "own-copy";
    case SiteVerdict::kNoWait: return "no-wait";
    case SiteVerdict::kUnclear: break;
  }
  return "unclear";
}

std::string call_words(const SiteCalls& calls) {
  std::string words = calls.function;
  if (!calls.direction.empty()) words += ' ' + calls.direction;
  if (!calls.memory.empty()) words += ' ' + calls.memory;
  return words;
}

std::string call_words(const CallSite& site) {
  std::string words = call_words(site.calls.front());
  if (site.calls.size() > 1) words += site.calls.front().direction.empty() ? " + copy" : " + sync";
  return words;
}

std::string saving_word(const Report& report, const IdleCause& cause) {
  if (!cause.saving) return "-";
  if (cause.saving->alone.grade == Grade::kNone) return "none";
  return share_text(cause.saving->alone.ns, report.savings.base_ns);
}

std::string extent_words(const Report& report, const CauseSplit& split, Nanoseconds window_ns) {
  const std::string shown = duration_text(split.shown_ns);
  if (report.steps.figures.count == 0) return shown + " of " + duration_text(window_ns);
  const StepFigures& steps = report.steps.figures;
  const std::string outside = duration_text(split.all_ns - split.counted_ns - split.irregular_ns);
  if (steps.irregular == 0)
    return format_text("{} in {} steps, and {} outside of them", shown, count_text(steps.count), outside);
  const std::string irregular =
      split.irregular_ns == 0
          ? ""
          : format_text(", {} in {} irregular", duration_text(split.irregular_ns), count_text(steps.irregular));
  return format_text("{} in {} ordinary steps{}, {} outside", shown, count_text(steps.count - steps.irregular),
                     irregular, outside);
}

}  // namespace synctrace
