// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/loop_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
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

// "self.h" of "self.h = cell(x, self.h)"; "out", at "i", of "out[i], loss = head(x[i])".
struct Target {
  std::string_view name;
  std::string_view index;  // empty: all of it
};

std::size_t end_of_index(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0) return i;
  }
  return text.size() - 1;
}

std::vector<Target> targets_of(std::string_view source) {
  std::vector<Target> targets;
  const std::size_t assigned = source.find(" = ");
  if (assigned == std::string_view::npos) return targets;
  std::string_view left = source.substr(0, assigned);
  while (!left.empty()) {
    const auto end = std::find_if_not(left.begin(), left.end(), [](char c) { return is_of_name(c) || c == '.'; });
    Target target{left.substr(0, static_cast<std::size_t>(end - left.begin())), {}};
    left.remove_prefix(std::max<std::size_t>(1, target.name.size()));
    if (target.name.empty()) continue;
    if (left.starts_with("[")) {
      target.index = left.substr(0, end_of_index(left) + 1);
      left.remove_prefix(target.index.size());
    }
    targets.push_back(target);
  }
  return targets;
}

std::string_view right_of(std::string_view source) {
  const std::size_t assigned = source.find(" = ");
  return assigned == std::string_view::npos ? source : source.substr(assigned + 3);
}

std::string_view appended_to(std::string_view source) {
  const std::size_t at = source.find(".append(");
  return at == std::string_view::npos ? std::string_view() : source.substr(0, at);
}

// "x[i]" needs no other item of x than "x[i] = ..." makes; "x[i - 1]" does.
bool needs_other_item(std::string_view text, const Target& target) {
  for (std::size_t at = text.find(target.name); at != std::string_view::npos; at = text.find(target.name, at + 1)) {
    const bool begins = at == 0 || (!is_of_name(text[at - 1]) && text[at - 1] != '.');
    const std::string_view rest = text.substr(at + target.name.size());
    if (!begins || (!rest.empty() && is_of_name(rest.front()))) continue;
    if (target.index.empty() || !rest.starts_with(target.index)) return true;
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
  const std::vector<Target> targets = targets_of(source);
  if (targets.empty() || targets.front().index.empty()) return false;
  const std::string_view right = right_of(source);
  return holds_text(right, "(") && !needs_other_item(right, {targets.front().name, {}});
}

bool needs_turn_before(const std::vector<std::string_view>& turn) {
  std::vector<std::string_view> computed_with;  // the right sides up to a line
  std::set<std::string_view> made;              // by this turn itself, before it is needed
  for (const std::string_view source : turn) {
    const std::vector<Target> targets = targets_of(source);
    const std::string_view right = right_of(source);
    const std::string_view list = appended_to(source);
    const auto needs = [&](const Target& target) {
      return std::any_of(computed_with.begin(), computed_with.end(),
                         [&](std::string_view text) { return needs_other_item(text, target); });
    };
    if (!list.empty() && needs({list, {}})) return true;
    const bool is_sum = !targets.empty() && right.starts_with(std::string(targets.front().name) + " + ");
    if (!is_sum) computed_with.push_back(right);
    for (const Target& target : targets) {
      if (made.contains(target.name)) continue;
      if (needs(target)) return true;
      if (target.index.empty()) made.insert(target.name);
    }
  }
  return false;
}

std::optional<std::string_view> takes_one_item(std::string_view source) {
  std::size_t at = std::string_view::npos;
  for (const std::string_view one : {".unsqueeze(0)", "[None", "[np.newaxis"}) at = std::min(at, source.find(one));
  if (at == std::string_view::npos) return std::nullopt;
  for (int closed = 0; at > 0; --at) {
    const char c = source[at - 1];
    if (c == '(' && closed == 0) break;
    closed += c == ')' ? 1 : c == '(' ? -1 : 0;
  }
  if (at == 0) return std::string_view();
  const auto before = source.substr(0, at - 1);
  const auto begin = std::find_if_not(before.rbegin(), before.rend(), [](char c) { return is_of_name(c) || c == '.'; });
  const std::string_view name = before.substr(static_cast<std::size_t>(before.rend() - begin));
  return name.ends_with(".append") || name.starts_with("torch.") ? std::string_view() : name;
}

}  // namespace synctrace
