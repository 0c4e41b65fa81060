// SPDX-License-Identifier: Apache-2.0
#include "watch/rule_watch.h"

#include <algorithm>
#include <cmath>
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

std::optional<double> median_of(const std::deque<double>& values) {
  if (values.size() < RuleWatch::kFewestForMedian) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

double calls_of_a_step(const Look& look, double step_ms) { return look.calls_per_s.value_or(0.0) * step_ms / 1000.0; }

// Beyond these a step has other calls than usual, and a second as many as usual.
constexpr double kMoreCalls = 1.8;
constexpr double kFewerCalls = 0.55;
constexpr double kSameRate = 1.2;
constexpr double kFewestCalls = 16.0;  // in a look

}  // namespace

std::optional<double> RuleWatch::median() const { return median_of(healthy_); }

// In a short look the loop that reads a value every ten steps may be found, and in the next the steps themselves. A step with
// ten times the calls, of which no more come in a second, is ten of the usual steps. A call that is new in each step is not
// that: then more come in a second.
double RuleWatch::in_usual_steps(const Look& look, double step_ms) const {
  const std::optional<double> usual_ms = median(), usual_calls = median_of(calls_of_a_step_);
  const double length_s = look.length_s, calls = calls_of_a_step(look, step_ms);
  if (!rule_.is_of_median || !usual_ms || !usual_calls || *usual_calls <= 0.0 || calls <= 0.0) return step_ms;
  if (look.calls_per_s.value_or(0.0) * length_s < kFewestCalls) return step_ms;
  const double steps = calls / *usual_calls;
  const double rate = steps / (step_ms / *usual_ms);
  const bool holds_several = steps >= kMoreCalls && rate <= kSameRate;
  const bool is_part = steps <= kFewerCalls && rate <= kSameRate && rate >= 1.0 / kSameRate;
  return holds_several || is_part ? step_ms / steps : step_ms;
}

bool RuleWatch::is_seen_in(std::span<const Look> looks) const {
  return std::any_of(looks.begin(), looks.end(), [&](const Look& look) { return figure(look, rule_).has_value(); });
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
  double length_s = 0.0, calls = 0.0;  // those of the look whose value counts
  for (const Look& look : looks) {
    std::optional<double> one = figure(look, rule_);
    if (one && rule_.quantity == WatchRule::Quantity::kStep) one = in_usual_steps(look, *one);
    if (!one || (value_ && (rule_.is_above ? *value_ >= *one : *value_ <= *one))) continue;
    value_ = one;
    length_s = look.length_s;
    calls = calls_of_a_step(look, *one);
  }
  if (!value_) return Answer::kUnknown;
  was_seen_ = true;
  const std::optional<double> wanted = limit();
  const bool holds = wanted && (rule_.is_above ? *value_ > *wanted : *value_ < *wanted) && !is_chance(length_s);
  if (!holds) {
    looks_in_row_ = 0;
    was_told_ = false;
    healthy_.push_back(*value_);
    if (healthy_.size() > kRemembered) healthy_.pop_front();
    if (calls > 0.0) calls_of_a_step_.push_back(calls);
    if (calls_of_a_step_.size() > kRemembered) calls_of_a_step_.pop_front();
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
