// SPDX-License-Identifier: Apache-2.0
#include "gate/render_gate_text.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/name_text.h"
#include "base/quantity_text.h"
#include "gate/gate_words.h"

namespace synctrace {
namespace {

class Page {
 public:
  explicit Page(const GateTextOptions& options) : options_(options) {}

  void finding(const Finding& finding) {
    line(place_text(finding), finding.status == FindingStatus::kNew ? finding.level : GateLevel::kNote,
         words(finding) + " [" + finding.rule_id + " " + finding.rule_name + "]");
    if (!finding.where.source.empty()) text_ += "    " + finding.where.source + "\n";
    if (finding.status != FindingStatus::kNew) return;
    if (!finding.where.function.empty()) text_ += "  in " + function_text(finding.where.function) + "\n";
    if (const std::string advice = rule_advice(finding.rule_id); !advice.empty()) text_ += "  fix: " + advice + "\n";
  }

  void complaint(const Complaint& complaint) {
    std::string place = "synctrace";
    if (!complaint.path.empty())
      place = complaint.path + (complaint.line == 0 ? "" : ":" + std::to_string(complaint.line));
    line(place, complaint.level, complaint.message + " [" + complaint.id + "]");
  }

  void line(const std::string& place, GateLevel level, const std::string& message) {
    text_ += place + ": " + coloured(level) + ": " + message + "\n";
  }

  std::string& text() { return text_; }

 private:
  static std::string words(const Finding& finding) {
    if (finding.status == FindingStatus::kAllowed) return "allowed (" + finding.reason + "): " + finding.message;
    if (finding.status == FindingStatus::kBaseline) return "in the baseline: " + finding.message;
    return finding.message;
  }

  std::string coloured(GateLevel level) const {
    std::string word(level_word(level));
    if (!options_.colour) return word;
    const char* colour = level == GateLevel::kError     ? "\x1b[31m"
                         : level == GateLevel::kWarning ? "\x1b[33m"
                                                        : "\x1b[36m";
    return colour + word + "\x1b[0m";
  }

  const GateTextOptions& options_;
  std::string text_;
};

std::string scope_text(const JudgedTrace& trace) {
  std::string text;
  if (trace.steps > 0) {
    text += count_text(trace.judged_steps) + " of " + count_text(trace.steps) + " steps judged (" + trace.step_source;
    text += (trace.step_name.empty() ? "" : " " + trace.step_name) + ")";
  } else {
    text += "judged as a whole";
  }
  return text + ", level " + trace.level + (trace.simulated ? ", simulated GPU" : "");
}

// Whose traces they are, and what was judged in them. Ranks with the same words share a line.
std::vector<std::pair<std::string, std::string>> scopes(const GateResult& result) {
  std::vector<std::pair<std::string, std::string>> lines;
  std::map<std::string, std::vector<std::int64_t>> by_scope;
  for (const JudgedTrace& trace : result.traces) {
    if (trace.rank == kNoJobRank)
      lines.emplace_back(trace.path, scope_text(trace));
    else
      by_scope[scope_text(trace)].push_back(trace.rank);
  }
  for (auto& [scope, ranks] : by_scope) {
    std::sort(ranks.begin(), ranks.end());
    lines.emplace_back(ranks_text(ranks), scope);
  }
  return lines;
}

}  // namespace

std::string render_gate_text(const GateResult& result, const GateTextOptions& options) {
  Page page(options);
  for (const Finding& finding : result.findings) {
    if (finding.status == FindingStatus::kNew || options.all) page.finding(finding);
  }
  for (const Complaint& complaint : result.complaints) page.complaint(complaint);
  for (const std::string& why : result.nothing) page.text() += "synctrace gate: not judged: " + why + "\n";
  for (const auto& [whose, scope] : scopes(result)) page.text() += "synctrace gate: " + whose + ": " + scope + "\n";
  for (const std::string& remark : result.remarks) page.text() += "synctrace gate: note: " + remark + "\n";
  page.text() += "synctrace gate: " + status_sentence(result) + "\n";
  return std::move(page.text());
}

}  // namespace synctrace
