// SPDX-License-Identifier: Apache-2.0
// Holds looks at a program against one rule. A look at which the rule holds is no healthy one and feeds no median. An
// episode counts once: behind it the rule waits for a healthy look.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "watch/look.h"
#include "watch/rule.h"
#include "watch/usual_pace.h"

namespace synctrace {

class RuleWatch {
 public:
  explicit RuleWatch(WatchRule rule) : rule_(std::move(rule)) {}

  enum class Answer : std::uint8_t {
    kUnknown,  // the looks do not show the quantity, or there is no median yet
    kHealthy,
    kHolds,  // not for long enough yet, or the episode was told
    kFires,
  };

  // The looks of one moment, one for each rank: the rule holds where it holds for any of them.
  Answer take(std::span<const Look> looks);

  // What the last take() saw.
  std::optional<double> value() const noexcept { return value_; }
  std::optional<double> median() const;
  const WatchRule& rule() const noexcept { return rule_; }
  bool was_seen() const noexcept { return was_seen_; }  // some look has shown the quantity
  bool is_seen_in(std::span<const Look> looks) const;   // one of these does

  // "step is 41.2 ms, 1.4 times its median of 29.5 ms"
  std::string finding() const;

  static constexpr std::size_t kFewestForMedian = UsualPace::kFewestLooks;

 private:
  static constexpr std::size_t kRemembered = 60;

  std::optional<double> limit() const;
  std::optional<double> value_in(const Look& look) const;
  bool is_chance(double length_s) const;

  WatchRule rule_;
  std::deque<double> healthy_;  // the latest last
  UsualPace pace_;              // where the rule holds steps against their median
  std::optional<double> value_;
  std::uint32_t looks_in_row_ = 0;
  double since_s_ = 0.0;
  bool was_told_ = false;
  bool was_seen_ = false;
};

}  // namespace synctrace
