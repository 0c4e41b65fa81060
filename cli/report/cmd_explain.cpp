// SPDX-License-Identifier: Apache-2.0
// Verb `explain`: what does this rule or verdict mean, and what is to be written instead?
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "files/standard_streams.h"
#include "findings/remedies/rule_texts.h"
#include "messages.h"
#include "nearest_word.h"
#include "render/render_explanation.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace explain";
// Code does not break, and is written for 80.
constexpr std::size_t kFewestColumns = 80;
constexpr std::size_t kMostColumns = 200;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

template <class Function>
void for_each_text(Function&& function) {
  for (const RuleText& text : verdict_texts()) function(text);
  for (const RuleText& text : rule_texts()) function(text);
}

// A verdict and a rule may share a name: then both are meant.
std::vector<const RuleText*> texts_of(std::string_view wanted) {
  const std::string name = lower(wanted);
  std::vector<const RuleText*> found;
  for_each_text([&](const RuleText& text) {
    if (name == text.name || (!text.id.empty() && name == lower(text.id))) found.push_back(&text);
  });
  return found;
}

std::string unknown_name(const std::string& wanted) {
  if (names_a_cause(lower(wanted)))
    return "'" + wanted + "' is a cause without a rule of its own; docs/attribution.md says what it means.";
  std::vector<std::string> known;
  for_each_text([&](const RuleText& text) {
    known.push_back(lower(text.id));
    known.emplace_back(text.name);
  });
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const std::string nearest = nearest_word(lower(wanted), candidates);
  if (nearest.empty()) return "there is no rule or verdict '" + wanted + "'; synctrace explain lists them.";
  const std::vector<const RuleText*> meant = texts_of(nearest);
  const bool is_id = !meant.empty() && nearest != meant.front()->name;
  return "there is no rule or verdict '" + wanted + "'; did you mean '" +
         (is_id ? std::string(meant.front()->id) : nearest) + "'?";
}

std::string shown(const std::vector<const RuleText*>& texts, const std::string& format, std::size_t columns) {
  if (format == "json") return explanations_json(texts);
  std::string out;
  for (const RuleText* text : texts) {
    if (!out.empty()) out += '\n';
    out += format == "markdown" ? explanation_markdown(*text) : explanation_text(*text, columns);
  }
  return out;
}

}  // namespace

int cmd_explain(int argc, char** argv) {
  const CommandLine app("Says what a rule or a verdict means, and what to write instead; without a name, lists them.",
                        kWho);
  std::vector<std::string> names;
  std::string format = "text";
  app.add("NAME", names, "a rule by its id or name, as ST020 or scalar-read, or a verdict, as launch-bound", "");
  app.add("--format", format, "text, markdown or json", "FORMAT").one_of({"text", "markdown", "json"});
  if (const auto end = app.parse(argc, argv)) return *end;
  std::vector<const RuleText*> texts;
  for (const std::string& name : names) {
    const std::vector<const RuleText*> found = texts_of(name);
    if (found.empty()) {
      say::error(kWho, unknown_name(name));
      return kExitUsage;
    }
    texts.insert(texts.end(), found.begin(), found.end());
  }
  if (names.empty()) for_each_text([&](const RuleText& text) { texts.push_back(&text); });
  const bool only_lists = names.empty() && format == "text";
  const std::size_t columns = std::clamp(columns_of_terminal(stdout), kFewestColumns, kMostColumns);
  std::fputs((only_lists ? explanation_list(columns) : shown(texts, format, columns)).c_str(), stdout);
  return kExitOk;
}

}  // namespace synctrace::cli
