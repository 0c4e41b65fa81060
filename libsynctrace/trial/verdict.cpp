// SPDX-License-Identifier: Apache-2.0
#include "trial/verdict.h"

namespace synctrace {

std::string_view verdict_word(TrialVerdict verdict) noexcept {
  switch (verdict) {
    case TrialVerdict::kFaster: return "faster";
    case TrialVerdict::kSlower: return "slower";
    case TrialVerdict::kSame: return "same";
    case TrialVerdict::kUndecided: break;
  }
  return "undecided";
}

TrialVerdict judge(const Effect& effect, const TrialRule& rule) noexcept {
  if (effect.high < 1.0) return TrialVerdict::kFaster;
  if (rule.slower_limit) {
    const double most = 1.0 + *rule.slower_limit;
    if (effect.low > most) return TrialVerdict::kSlower;
    return effect.high <= most ? TrialVerdict::kSame : TrialVerdict::kUndecided;
  }
  if (effect.low > 1.0) return TrialVerdict::kSlower;
  const bool is_small = effect.low >= 1.0 - kSameWithin && effect.high <= 1.0 + kSameWithin;
  return is_small ? TrialVerdict::kSame : TrialVerdict::kUndecided;
}

TrialVerdict judge(std::span<const TimedPair> pairs, const TrialRule& rule) {
  return pairs.size() < kFewestPairs ? TrialVerdict::kUndecided : judge(effect_of(pairs), rule);
}

}  // namespace synctrace
