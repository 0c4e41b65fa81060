// SPDX-License-Identifier: Apache-2.0
#include "watch/rule.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "base/format_text.h"

namespace synctrace {
namespace {

constexpr std::size_t kMaxRuleBytes = 200;
constexpr double kMostLooks = 1000.0;
constexpr double kMostSeconds = 86'400.0;

constexpr const char* kExpected =
    "expected QUANTITY > VALUE [for N|TIME], such as 'step > 1.3 x median for 3', 'gpu idle > 40 % for 30s' or "
    "'waits > 1.5 x median'; quantities are step, gpu idle, launches, waits, collectives and range \"NAME\".";

// Words and numbers: "40%" is two, "1.3x" is two, "30s" is two. What is quoted is one, without its second quote.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  const auto is_of_number = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  const auto kind_of = [&](char c) {
    return is_of_number(c) ? 1 : std::isalpha(static_cast<unsigned char>(c)) != 0 ? 2 : 3;
  };
  for (std::size_t begin = 0; begin < text.size();) {
    if (text[begin] == ' ' || text[begin] == '\t') {
      ++begin;
      continue;
    }
    std::size_t end = begin + 1;
    if (text[begin] == '"') {
      end = std::min(text.find('"', end), text.size());
      words.emplace_back(text.substr(begin, end - begin));
      begin = end + 1;
      continue;
    }
    while (end < text.size() && text[end] != ' ' && kind_of(text[end]) == kind_of(text[begin])) ++end;
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

// Takes the words of a rule one after the other.
class Words {
 public:
  explicit Words(std::string_view text) : words_(words_of(text)) {}

  bool take(std::string_view word) {
    if (at_ == words_.size() || words_[at_] != word) return false;
    ++at_;
    return true;
  }

  // Text in quotes, none of it empty.
  bool take_quoted(std::string& text) {
    if (at_ == words_.size() || words_[at_].size() < 2 || words_[at_].front() != '"') return false;
    text = words_[at_++].substr(1);
    return true;
  }

  std::optional<double> take_number() {
    if (at_ == words_.size()) return std::nullopt;
    const std::string& word = words_[at_];
    double value = 0.0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value, std::chars_format::fixed);
    if (failed != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
    ++at_;
    return value;
  }

  bool is_over() const { return at_ == words_.size(); }

 private:
  std::vector<std::string> words_;
  std::size_t at_ = 0;
};

bool take_quantity(Words& words, WatchRule& rule) {
  if (words.take("step")) return true;
  rule.quantity = WatchRule::Quantity::kLaunches;
  if (words.take("launches")) return true;
  rule.quantity = WatchRule::Quantity::kWaits;
  if (words.take("waits")) return true;
  rule.quantity = WatchRule::Quantity::kCollectives;
  if (words.take("collectives")) return true;
  rule.quantity = WatchRule::Quantity::kRanges;
  if (words.take("range")) return words.take_quoted(rule.range);
  rule.quantity = WatchRule::Quantity::kIdle;
  return words.take("gpu") && words.take("idle");
}

// The unit may be left out; another quantity's is a mistake.
bool take_value(Words& words, WatchRule& rule) {
  const std::optional<double> value = words.take_number();
  if (!value) return false;
  rule.value = *value;
  if (words.take("x")) {
    rule.is_of_median = true;
    return words.take("median") && rule.value > 0.0;
  }
  switch (rule.quantity) {
    case WatchRule::Quantity::kStep:
      if (words.take("s"))
        rule.value *= 1000.0;
      else
        words.take("ms");
      return true;
    case WatchRule::Quantity::kIdle: words.take("%"); return rule.value <= 100.0;
    case WatchRule::Quantity::kLaunches:
    case WatchRule::Quantity::kWaits:
    case WatchRule::Quantity::kCollectives:
    case WatchRule::Quantity::kRanges: words.take("/") && words.take("s"); return true;
  }
  return false;
}

bool take_duration(Words& words, WatchRule& rule) {
  if (!words.take("for")) return true;
  const std::optional<double> value = words.take_number();
  if (!value || *value <= 0.0) return false;
  const double unit_s = words.take("ms") ? 0.001 : words.take("s") ? 1.0 : words.take("m") ? 60.0 : 0.0;
  rule.seconds = *value * unit_s;
  if (unit_s > 0.0) return rule.seconds <= kMostSeconds;
  rule.looks = static_cast<std::uint32_t>(std::min(*value, kMostLooks));
  return static_cast<double>(rule.looks) == *value;
}

}  // namespace

Result<WatchRule> parse_rule(std::string_view text) {
  WatchRule rule;
  rule.text = std::string(text.substr(0, kMaxRuleBytes));
  Words words(rule.text);
  const bool is_good = text.size() <= kMaxRuleBytes && take_quantity(words, rule) &&
                       (words.take(">") || (rule.is_above = false, words.take("<"))) && take_value(words, rule) &&
                       take_duration(words, rule) && words.is_over();
  if (!is_good) return Error{"'" + rule.text + "' is no rule: " + kExpected};
  return rule;
}

std::string quantity_text(WatchRule::Quantity quantity, double value) {
  switch (quantity) {
    case WatchRule::Quantity::kStep: return format_text("{:.3g} ms", value);
    case WatchRule::Quantity::kIdle: return format_text("{:.1f} %", value);
    case WatchRule::Quantity::kLaunches: return format_text("{:.0f} launches/s", value);
    case WatchRule::Quantity::kWaits: return format_text("{:.3g} waits/s", value);
    case WatchRule::Quantity::kCollectives: return format_text("{:.3g} collectives/s", value);
    case WatchRule::Quantity::kRanges: return format_text("{:.3g} ranges/s", value);
  }
  return {};
}

}  // namespace synctrace
