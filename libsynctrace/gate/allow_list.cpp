// SPDX-License-Identifier: Apache-2.0
#include "gate/allow_list.h"

#include <algorithm>
#include <charconv>

#include "base/glob.h"
#include "code/user_frame.h"

namespace synctrace {
namespace {

constexpr std::string_view kAnyFrames = "...";
constexpr std::size_t kMostRules = 64;  // in one entry

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::vector<std::string> split_rules(std::string_view list) {
  std::vector<std::string> rules;
  while (!list.empty() && rules.size() < kMostRules) {
    const std::string_view rule = trimmed(list.substr(0, list.find(',')));
    if (!rule.empty()) rules.emplace_back(rule);
    const std::size_t comma = list.find(',');
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return rules;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "Trainer.log_metrics" is found as "log_metrics" too, and "ns::step(float*)" as "ns::step".
bool matches_function(std::string_view pattern, std::string_view function) {
  if (matches_glob(pattern, function)) return true;
  const std::string_view bare = function.substr(0, function.find('('));
  if (matches_glob(pattern, bare)) return true;
  const std::size_t tail = bare.find_last_of(".:");
  return tail != std::string_view::npos && matches_glob(pattern, bare.substr(tail + 1));
}

// "train/loop.py:log_metrics", "train/loop.py:88", "train/*.py".
bool matches_place(std::string_view at, const AllowQuestion& question) {
  const std::size_t colon = at.find(':');
  if (!matches_path(at.substr(0, colon), question.path)) return false;
  if (colon == std::string_view::npos) return true;
  const std::string_view rest = at.substr(colon + 1);
  if (const auto line = number_of(rest)) return *line == question.line;
  return matches_function(rest, question.function);
}

}  // namespace

bool matches_rule(std::string_view pattern, std::string_view id, std::string_view name) {
  return matches_glob(pattern, id) || matches_glob(pattern, name);
}

bool matches_stack(std::span<const std::string> patterns, std::span<const ResolvedFrame> stack) {
  // Works like wildcards in a text: goes back to the last "..." when what follows it does not fit.
  std::size_t p = 0;
  std::size_t frame = 0;
  std::size_t any = patterns.size();
  std::size_t resume = 0;
  while (p < patterns.size()) {
    if (patterns[p] == kAnyFrames) {
      any = p++;
      resume = frame;
    } else if (frame < stack.size() && matches_function(patterns[p], stack[frame].function)) {
      ++p;
      ++frame;
    } else if (any != patterns.size() && resume < stack.size()) {
      p = any + 1;
      frame = ++resume;
    } else {
      return false;
    }
  }
  return true;
}

bool covers(const AllowEntry& entry, const AllowQuestion& question) {
  const bool right_rule = std::any_of(entry.rules.begin(), entry.rules.end(), [&](const std::string& pattern) {
    if (matches_rule(pattern, question.rule_id, question.rule_name)) return true;
    return std::any_of(question.other_rules.begin(), question.other_rules.end(),
                       [&](std::string_view rule) { return matches_glob(pattern, rule); });
  });
  if (!right_rule) return false;
  if (!entry.at.empty() && !matches_place(entry.at, question)) return false;
  if (!entry.function.empty() && !matches_function(entry.function, question.function)) return false;
  if (!entry.stack.empty() && !matches_stack(entry.stack, question.stack)) return false;
  if (entry.range.empty()) return true;
  const bool with_domain = entry.range.find('@') != std::string::npos;
  return std::any_of(question.ranges.begin(), question.ranges.end(), [&](const std::string& range) {
    const std::string_view whole = range;
    return matches_glob(entry.range, with_domain ? whole : whole.substr(whole.find('@') + 1));
  });
}

std::optional<AllowEntry> parse_allow_comment(std::string_view source_line) {
  constexpr std::string_view kWord = "synctrace:";
  for (std::size_t at = source_line.find(kWord); at != std::string_view::npos; at = source_line.find(kWord, at + 1)) {
    const std::string_view before = trimmed(source_line.substr(0, at));
    if (!before.ends_with('#') && !before.ends_with("//")) continue;
    std::string_view rest = trimmed(source_line.substr(at + kWord.size()));
    if (!rest.starts_with("allow[")) continue;
    rest.remove_prefix(6);
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) continue;
    AllowEntry entry;
    entry.source = AllowSource::kComment;
    entry.rules = split_rules(rest.substr(0, close));
    entry.reason = trimmed(rest.substr(close + 1));
    return entry;
  }
  return std::nullopt;
}

std::optional<AllowEntry> parse_allow_range(std::string_view text) {
  constexpr std::string_view kWord = "allow:";
  if (!text.starts_with(kWord)) return std::nullopt;
  AllowEntry entry;
  entry.source = AllowSource::kRange;
  entry.file = text;
  text.remove_prefix(kWord.size());
  entry.rules = split_rules(text.substr(0, text.find(';')));
  std::size_t semicolon = text.find(';');
  while (semicolon != std::string_view::npos) {
    text = trimmed(text.substr(semicolon + 1));
    if (text.starts_with("reason=")) {  // the last word: it may hold a semicolon itself
      entry.reason = trimmed(text.substr(7));
      break;
    }
    semicolon = text.find(';');
    const std::string_view word = trimmed(text.substr(0, semicolon));
    if (word.starts_with("max=")) entry.max_per_step = number_of(word.substr(4));
  }
  return entry;
}

}  // namespace synctrace
