// SPDX-License-Identifier: Apache-2.0
#include "gate/print_allow.h"

#include <cstdio>

#include "base/shown_text.h"
#include "gate/gate_words.h"

namespace synctrace {
namespace {

// '*' and '?' in a name stand for themselves here as well: a pattern that is too wide by so little does no harm.
void add_place(const Finding& finding, std::string& text) {
  if (finding.path.empty()) return;
  // By function where there is one: lines move.
  const std::string& function = finding.where.function;
  const std::string place = function.empty() ? std::to_string(finding.where.line) : function;
  text += "at = " + toml_text(finding.path + ":" + place) + "\n";
}

}  // namespace

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string allow_entries_text(const GateResult& result) {
  std::string text;
  for (const Finding& finding : result.findings) {
    if (finding.status != FindingStatus::kNew) continue;
    if (finding.strict) {
      text += "# " + place_text(finding) + " is in a zone that expects no synchronisation: no entry allows that.\n\n";
      continue;
    }
    text += "[[allow]]  # " + place_text(finding) + (finding.where.source.empty() ? "" : "  " + finding.where.source) +
            "\n";
    text += "rule = " + toml_text(finding.rule_id) + "\n";
    add_place(finding, text);
    if (finding.steps > 1 && finding.per_step > 0) text += "max-per-step = " + std::to_string(finding.per_step) + "\n";
    text += "reason = \"taken over by gate --print-allow: say why it has to wait\"\n\n";
  }
  return text;
}

}  // namespace synctrace
