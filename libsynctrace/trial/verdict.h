// SPDX-License-Identifier: Apache-2.0
// What an effect means.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "trial/effect.h"

namespace synctrace {

enum class TrialVerdict : std::uint8_t { kUndecided, kFaster, kSlower, kSame };
std::string_view verdict_word(TrialVerdict verdict) noexcept;

struct TrialRule {
  std::optional<double> slower_limit;  // 0.02: so much longer is allowed
};

// A difference below this part of the time is called none, as soon as that is known of it.
inline constexpr double kSameWithin = 0.01;

// Faster and slower: the interval says so. Same: it holds none, and lies within kSameWithin. With a limit, slower is
// what exceeds the limit for sure, and same is what does not.
TrialVerdict judge(const Effect& effect, const TrialRule& rule) noexcept;
TrialVerdict judge(std::span<const TimedPair> pairs, const TrialRule& rule);

}  // namespace synctrace
