// SPDX-License-Identifier: Apache-2.0
#include "render/render_explanation.h"

#include <algorithm>
#include <string_view>

#include "render/columns.h"
#include "render/json_parts.h"

namespace synctrace {
namespace {

constexpr std::size_t kIndent = 2;

// Breaks `text` between words; `lead` stands before the first line, and later lines are set in under the text.
void append_wrapped(std::string& out, std::string lead, std::string_view text, std::size_t columns) {
  for (const std::string& line : wrapped_text(text, columns - columns_of(lead), false)) {
    out += lead + line + '\n';
    lead.assign(columns_of(lead), ' ');
  }
}

void append_part(std::string& out, std::string_view heading, std::string_view text, std::size_t columns) {
  out += '\n' + std::string(heading) + '\n';
  append_wrapped(out, std::string(kIndent, ' '), text, columns);
}

template <class Function>
void for_each_line(std::string_view code, Function&& function) {
  while (!code.empty()) {
    const std::size_t end = std::min(code.find('\n'), code.size() - 1);
    function(code.substr(0, end));
    code.remove_prefix(end + 1);
  }
}

Json explanation_json(const RuleText& text) {
  Json code = Json::array();
  for (const FixCode& block : text.code)
    code.push_back({{"framework", block.framework}, {"language", block.language}, {"code", block.code}});
  return {{"kind", text.id.empty() ? "verdict" : "rule"},
          {"id", json::text_or_null(text.id)},
          {"name", text.name},
          {"what", text.what},
          {"recognised", text.recognised},
          {"fix", text.fix},
          {"code", code},
          {"fine", text.fine}};
}

void append_names(std::string& out, std::string_view heading, std::span<const RuleText> texts, std::size_t columns) {
  std::size_t width = 0;
  for (const RuleText& text : texts) width = std::max(width, columns_of(text.title()));
  out += std::string(heading) + '\n';
  for (const RuleText& text : texts) {
    std::string lead = std::string(kIndent, ' ') + text.title();
    lead.append(kIndent + width + 2 - columns_of(lead), ' ');
    append_wrapped(out, std::move(lead), first_sentence(text.what), columns);
  }
}

}  // namespace

std::string explanation_text(const RuleText& text, std::size_t columns) {
  std::string out = text.title() + '\n';
  append_wrapped(out, std::string(kIndent, ' '), text.what, columns);
  append_part(out, "How it is recognised", text.recognised, columns);
  append_part(out, "What to write instead", text.fix, columns);
  for (const FixCode& block : text.code) {
    out += '\n' + std::string(kIndent, ' ') + std::string(block.framework) + '\n';
    for_each_line(block.code, [&](std::string_view line) {
      out += std::string(line.empty() ? 0 : 2 * kIndent, ' ') + std::string(line) + '\n';
    });
  }
  append_part(out, "When it is fine", text.fine, columns);
  return out;
}

std::string explanation_markdown(const RuleText& text) {
  std::string out = "## " + text.title() + "\n\n" + text.what + "\n\n**Recognised.** " + text.recognised +
                    "\n\n**Fix.** " + text.fix + "\n\n";
  for (const FixCode& block : text.code) {
    out += std::string(block.framework) + ":\n\n```" + std::string(block.language) + '\n' + std::string(block.code) +
           "```\n\n";
  }
  return out + "**Fine.** " + text.fine + '\n';
}

std::string explanations_json(RuleTexts texts) {
  constexpr int kSchemaVersion = 1;
  Json explanations = Json::array();
  for (const RuleText* text : texts) explanations.push_back(explanation_json(*text));
  const Json root = {{"schema_version", kSchemaVersion}, {"explanations", explanations}};
  return root.dump(2) + '\n';
}

std::string explanation_list(std::size_t columns) {
  std::string out;
  append_names(out, "Verdicts, of a whole program", verdict_texts(), columns);
  out += '\n';
  append_names(out, "Rules, of a line", rule_texts(), columns);
  return out;
}

}  // namespace synctrace
