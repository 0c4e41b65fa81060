// SPDX-License-Identifier: Apache-2.0
#include "watch/rule_watch.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/format_text.h"
#include "base/median.h"

namespace synctrace {
namespace {

std::optional<double> figure(const Look& look, const WatchRule& rule) {
  switch (rule.quantity) {
    case WatchRule::Quantity::kStep: return look.step_ms;
    case WatchRule::Quantity::kIdle: return look.idle_percent;
    case WatchRule::Quantity::kLaunches: return look.launches_per_s;
    case WatchRule::Quantity::kWaits: return look.waits_per_s;
    case WatchRule::Quantity::kCollectives: return look.collectives_per_s;
    case WatchRule::Quantity::kRanges: {
      const auto found = look.ranges_per_s.find(rule.range);
      return found == look.ranges_per_s.end() ? 0.0 : found->second;
    }
  }
  return std::nullopt;
}

const char* name_of(WatchRule::Quantity quantity) {
  switch (quantity) {
    case WatchRule::Quantity::kStep: return "a step takes";
    case WatchRule::Quantity::kIdle: return "the GPU is idle for";
    case WatchRule::Quantity::kLaunches:
    case WatchRule::Quantity::kWaits:
    case WatchRule::Quantity::kCollectives:
    case WatchRule::Quantity::kRanges: return "there are";
  }
  return "";
}

}  // namespace

std::optional<double> RuleWatch::median() const {
  if (healthy_.size() < kFewestForMedian) return std::nullopt;
  return median_of(std::vector<double>(healthy_.begin(), healthy_.end()));
}

bool RuleWatch::is_seen_in(std::span<const Look> looks) const {
  return std::any_of(looks.begin(), looks.end(), [&](const Look& look) { return value_in(look).has_value(); });
}

std::optional<double> RuleWatch::value_in(const Look& look) const {
  if (rule_.quantity == WatchRule::Quantity::kStep && rule_.is_of_median) {
    const std::optional<double> slowdown = pace_.slowdown(look), usual = median();
    if (slowdown && usual) return *usual * *slowdown;
    if (usual && pace_.is_known(look.length_s)) return std::nullopt;
  }
  return figure(look, rule_);
}

std::optional<double> RuleWatch::limit() const {
  if (!rule_.is_of_median) return rule_.value;
  const std::optional<double> middle = median();
  return middle ? std::optional(rule_.value * *middle) : std::nullopt;
}

// A look that holds few events has more or fewer of them by chance: as many as three roots, and one, say nothing.
bool RuleWatch::is_chance(double length_s) const {
  if (!rule_.is_of_median || !is_count(rule_.quantity)) return false;
  const double usual = median().value_or(0.0) * length_s;
  return std::abs(*value_ * length_s - usual) <= 3.0 * std::sqrt(usual) + 1.0;
}

RuleWatch::Answer RuleWatch::take(std::span<const Look> looks) {
  value_.reset();
  const Look* shown = nullptr;  // its value counts
  for (const Look& look : looks) {
    const std::optional<double> one = value_in(look);
    if (!one || (value_ && (rule_.is_above ? *value_ >= *one : *value_ <= *one))) continue;
    value_ = one;
    shown = &look;
  }
  if (!value_) {
    for (const Look& look : looks) pace_.add(look);  // another loop, which is the usual one when it stays
    return Answer::kUnknown;
  }
  was_seen_ = true;
  const std::optional<double> wanted = limit();
  const bool holds = wanted && (rule_.is_above ? *value_ > *wanted : *value_ < *wanted) && !is_chance(shown->length_s);
  if (!holds) {
    looks_in_row_ = 0;
    was_told_ = false;
    healthy_.push_back(figure(*shown, rule_).value_or(*value_));
    if (healthy_.size() > kRemembered) healthy_.pop_front();
    for (const Look& look : looks) pace_.add(look);
    return wanted ? Answer::kHealthy : Answer::kUnknown;
  }
  const double now_s = looks.front().time_s;
  if (looks_in_row_++ == 0) since_s_ = now_s;
  const bool is_long = looks_in_row_ >= rule_.looks && now_s - since_s_ >= rule_.seconds;
  if (!is_long || was_told_) return Answer::kHolds;
  was_told_ = true;
  return Answer::kFires;
}

std::string RuleWatch::finding() const {
  if (!value_) return "nothing is known of it";
  std::string text = format_text("{} {}", name_of(rule_.quantity), quantity_text(rule_.quantity, *value_));
  if (const std::optional<double> middle = median(); rule_.is_of_median && middle && *middle > 0.0)
    text += format_text(", {:.2g} times the median of {}", *value_ / *middle, quantity_text(rule_.quantity, *middle));
  return text;
}

}  // namespace synctrace
