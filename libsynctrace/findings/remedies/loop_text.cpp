// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/loop_text.h"

#include <algorithm>
#include <array>
#include <string>

namespace synctrace {
namespace {

bool holds_text(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

template <std::size_t Count>
bool holds_any(std::string_view text, const std::array<std::string_view, Count>& words) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return holds_text(lower, word); });
}

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view leading_name(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_of_name);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

bool names(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool begins = at == 0 || !is_of_name(text[at - 1]);
    const std::size_t end = at + name.size();
    if (begins && (end == text.size() || !is_of_name(text[end]))) return true;
  }
  return false;
}

}  // namespace

std::string_view assigned_name(std::string_view source) {
  const std::string_view name = leading_name(source);
  return source.substr(name.size()).starts_with(" = ") ? name : std::string_view();
}

std::string_view tested_name(std::string_view source) {
  for (const std::string_view word : {"if ", "elif ", "while ", "not ", "float(", "bool(", "abs("}) {
    if (source.starts_with(word)) source.remove_prefix(word.size());
  }
  return leading_name(source);
}

bool decides_on_turns(std::string_view source) {
  constexpr std::array<std::string_view, 9> kTested = {"tol",  "eps",    "conv", "resid", "norm",
                                                       "done", "finish", "eos",  "delta"};
  constexpr std::array<std::string_view, 8> kAssigned = {"resid",   "delta",  "change", "converge",
                                                         "is_done", "finish", "rnorm",  "rs_new"};
  if (source.starts_with("while ")) return true;
  if (source.starts_with("if ") || source.starts_with("elif ")) return holds_any(source, kTested);
  const std::string_view name = assigned_name(source);
  return !name.empty() && holds_any(name, kAssigned);
}

bool collects(std::string_view source) {
  if (holds_text(source, "cell") || holds_text(source, "Cell")) return false;
  if (holds_text(source, ".append(")) return true;
  const bool is_comprehension = holds_text(source, "[") && holds_text(source, " for ") && holds_text(source, " in ");
  if (is_comprehension && !source.starts_with("for ")) return true;
  const std::string_view name = leading_name(source);
  const std::size_t assigned = source.find("] = ");
  return !name.empty() && assigned != std::string_view::npos && source.substr(name.size()).starts_with("[") &&
         holds_text(source.substr(assigned), "(") && !holds_text(source.substr(assigned), name);
}

bool goes_on(std::string_view source) {
  const std::size_t assigned = source.find(" = ");
  if (assigned == std::string_view::npos) return false;
  std::string_view left = source.substr(0, assigned);
  const std::string_view right = source.substr(assigned + 3);
  int brackets = 0;  // an index in them is no target
  while (!left.empty()) {
    const std::string_view name = leading_name(left);
    const bool is_sum = right.starts_with(name) && right.substr(name.size()).starts_with(" + ");
    if (brackets == 0 && !name.empty() && names(right, name) && !is_sum) return true;
    if (name.empty()) brackets += left.front() == '[' ? 1 : left.front() == ']' ? -1 : 0;
    left.remove_prefix(std::max<std::size_t>(1, name.size()));
  }
  return false;
}

}  // namespace synctrace
