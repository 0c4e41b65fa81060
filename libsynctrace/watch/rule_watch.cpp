// SPDX-License-Identifier: Apache-2.0
#include "watch/rule_watch.h"

#include <algorithm>
#include <vector>

#include "base/format_text.h"

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
  std::vector<double> sorted(healthy_.begin(), healthy_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

std::optional<double> RuleWatch::limit() const {
  if (!rule_.is_of_median) return rule_.value;
  const std::optional<double> middle = median();
  return middle ? std::optional(rule_.value * *middle) : std::nullopt;
}

RuleWatch::Answer RuleWatch::take(std::span<const Look> looks) {
  value_.reset();
  for (const Look& look : looks) {
    const std::optional<double> one = figure(look, rule_);
    if (!one) continue;
    value_ = !value_ ? *one : rule_.is_above ? std::max(*value_, *one) : std::min(*value_, *one);
  }
  if (!value_) return Answer::kUnknown;
  was_seen_ = true;
  const std::optional<double> wanted = limit();
  const bool holds = wanted && (rule_.is_above ? *value_ > *wanted : *value_ < *wanted);
  if (!holds) {
    looks_in_row_ = 0;
    was_told_ = false;
    healthy_.push_back(*value_);
    if (healthy_.size() > kRemembered) healthy_.pop_front();
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
