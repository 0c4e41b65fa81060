// SPDX-License-Identifier: Apache-2.0
// What a rule or a verdict means and what to write instead: the text of `synctrace explain`, folded.
#include <algorithm>
#include <string>
#include <string_view>

#include "render/page/section_parts.h"

namespace synctrace::page {
namespace {

constexpr std::size_t kMostColumns = 4'000;  // in a paragraph or a block of code: ours, not the trace's

// Between two marks of Markdown is code.
Markup prose(std::string_view text) {
  std::string out;
  for (bool is_code = false;; is_code = !is_code) {
    const std::size_t end = std::min(text.find('`'), text.size());
    const std::string part = html_text(text.substr(0, end), kMostColumns);
    out += is_code ? "<code>" + part + "</code>" : part;
    if (end == text.size()) return {out};
    text.remove_prefix(end + 1);
  }
}

// Line by line: what a text of the page may not hold, as the end of a line, is made visible in it.
Markup code_lines(std::string_view code) {
  std::string out;
  while (!code.empty()) {
    const std::size_t end = std::min(code.find('\n'), code.size());
    out += html_text(code.substr(0, end), kMostColumns) + '\n';
    code.remove_prefix(std::min(end + 1, code.size()));
  }
  return {out};
}

}  // namespace

void write_rule(const RuleText& rule, HtmlOut& out) {
  out.add("<details class=\"rule-text\"><summary>what {} means</summary>\n<p>{}</p>\n<p><b>Recognised.</b> {}</p>\n",
          rule.title(), prose(rule.what), prose(rule.recognised));
  out.add("<p><b>What to write instead.</b> {}</p>\n", prose(rule.fix));
  for (const FixCode& block : rule.code)
    out.add("<p class=\"framework\">{}</p>\n<pre><code>{}</code></pre>\n", block.framework, code_lines(block.code));
  out.add("<p><b>When it is fine.</b> {}</p>\n</details>\n", prose(rule.fine));
}

}  // namespace synctrace::page
