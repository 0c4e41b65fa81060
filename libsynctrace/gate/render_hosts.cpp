// SPDX-License-Identifier: Apache-2.0
// GitHub's workflow commands, GitLab's code quality, and Markdown for both.
#include <algorithm>
#include <set>
#include <string_view>

#include "base/digest.h"
#include "base/quantity_text.h"
#include "base/shown_text.h"
#include "gate/gate_words.h"
#include "gate/render_ci.h"
#include "render/json_parts.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostAnnotations = 10;    // for each level in one step: GitHub shows no more
constexpr std::size_t kMostMarkdownRows = 200;  // a step summary holds 1 MiB, a comment 64 KiB

// A line end would end the command, and what follows might be one of the program's own.
std::string command_text(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '%')
      out += "%25";
    else if (c == '\r')
      out += "%0D";
    else if (c == '\n')
      out += "%0A";
    else if (is_property && c == ':')
      out += "%3A";
    else if (is_property && c == ',')
      out += "%2C";
    else
      out += c;
  }
  return out;
}

std::string command(GateLevel level, const std::string& path, std::uint32_t line, const std::string& title,
                    const std::string& message) {
  std::string text = level == GateLevel::kError     ? "::error "
                     : level == GateLevel::kWarning ? "::warning "
                                                    : "::notice ";
  if (!path.empty())
    text += "file=" + command_text(path, true) + ",line=" + std::to_string(std::max<std::uint32_t>(line, 1)) + ",";
  return text + "title=" + command_text(title, true) + "::" + command_text(message, false) + "\n";
}

// An annotation is all that is seen beside the line.
std::string message_with_fix(const Finding& finding) {
  const std::string advice = rule_advice(finding.rule_id);
  return finding.message + (advice.empty() ? "" : "; fix: " + advice);
}

std::string_view severity(const Finding& finding) {
  if (finding.strict) return "critical";
  return finding.level == GateLevel::kError ? "major" : finding.level == GateLevel::kWarning ? "minor" : "info";
}

std::string relative(const std::string& path) { return path.empty() ? "synctrace.toml" : path; }

// Inside a cell of a table, as text.
std::string cell(std::string_view text) {
  constexpr std::string_view kSpecial = "\\`*_{}[]()#+-.!|<>~&@";
  std::string out;
  for (const char c : printable(text)) {
    if (kSpecial.find(c) != std::string_view::npos && c != '.' && c != '-' && c != '(' && c != ')' && c != '+')
      out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

}  // namespace

std::string render_github(const GateResult& result) {
  std::string text;
  std::size_t counts[4] = {};
  std::size_t left_out = 0;
  const auto put = [&](GateLevel level, const std::string& path, std::uint32_t line, const std::string& title,
                       const std::string& message) {
    if (++counts[static_cast<std::size_t>(level)] > kMostAnnotations)
      ++left_out;
    else
      text += command(level, path, line, title, message);
  };
  for (const Finding& finding : result.findings) {
    if (finding.status == FindingStatus::kNew)
      put(finding.level, finding.path, finding.where.line, finding.rule_id + " " + finding.rule_name,
          message_with_fix(finding));
  }
  for (const Complaint& complaint : result.complaints)
    put(complaint.level, complaint.path, complaint.line, complaint.id, complaint.message);
  for (const std::string& why : result.nothing) put(GateLevel::kError, {}, 0, "nothing to judge", why);
  if (left_out > 0)
    text += command(GateLevel::kNote, {}, 0, "synctrace gate",
                    count_text(left_out) + " more are in the log and in the step summary");
  return text;
}

std::string render_gitlab(const GateResult& result) {
  Json issues = Json::array();
  std::set<std::string> taken;
  const auto put = [&](const std::string& name, const std::string& message, std::string_view how_grave,
                       std::string fingerprint, const std::string& path, std::uint32_t line) {
    // GitLab would drop one of two with the same fingerprint.
    while (!taken.insert(fingerprint).second) {
      Digest digest;
      digest.add(fingerprint);
      fingerprint = digest.hex();
    }
    issues.push_back(
        {{"description", printable(message)},
         {"check_name", name},
         {"fingerprint", fingerprint},
         {"severity", how_grave},
         {"location", {{"path", relative(path)}, {"lines", {{"begin", std::max<std::uint32_t>(line, 1)}}}}}});
  };
  for (const Finding& finding : result.findings) {
    if (finding.status == FindingStatus::kNew)
      put(finding.rule_id, finding.message, severity(finding), finding.fingerprint.digest(), finding.path,
          finding.where.line);
  }
  for (const Complaint& complaint : result.complaints) {
    Digest digest;
    digest.add(complaint.id);
    digest.add(complaint.message);
    put(complaint.id, complaint.message, complaint.level == GateLevel::kError ? "major" : "minor", digest.hex(),
        complaint.path, complaint.line);
  }
  return issues.dump(1) + "\n";
}

std::string render_gate_markdown(const GateResult& result) {
  std::string text = "### synctrace gate: " + cell(status_sentence(result)) + "\n\n";
  const auto rows = std::count_if(result.findings.begin(), result.findings.end(),
                                  [](const Finding& finding) { return finding.status == FindingStatus::kNew; });
  std::size_t shown = 0;
  const std::string ranks_head = result.job ? " ranks |" : "";
  if (rows > 0)
    text += "| level | line | rule | calls | a step | waited |" + ranks_head +
            " source |\n|---|---|---|---:|---:|---:|" + (result.job ? "---|" : "") + "---|\n";
  for (const Finding& finding : result.findings) {
    if (finding.status != FindingStatus::kNew || ++shown > kMostMarkdownRows) continue;
    text += "| " + std::string(level_word(finding.level)) + " | " + cell(place_text(finding)) + " | " +
            finding.rule_id + " " + finding.rule_name + " | " + count_text(finding.figures.calls) + " | " +
            count_text(finding.per_step) + (finding.counted_in == CountedIn::kStep ? "" : " in all") + " | " +
            duration_text(finding.figures.host_blocked_ns) + " | " +
            (result.job ? (finding.ranks.empty() ? "-" : ranks_text(finding.ranks)) + " | " : "") +
            cell(finding.where.source) + " |\n";
  }
  if (shown > kMostMarkdownRows) text += "\n" + count_text(shown - kMostMarkdownRows) + " more lines are in the log.\n";
  if (!result.complaints.empty()) text += "\n";
  for (const Complaint& complaint : result.complaints) {
    const std::string place =
        complaint.path.empty() ? "" : complaint.path + ":" + std::to_string(complaint.line) + ": ";
    text += "* " + std::string(level_word(complaint.level)) + ": " + cell(place + complaint.message) + "\n";
  }
  if (!result.nothing.empty() || !result.remarks.empty()) text += "\n";
  for (const std::string& why : result.nothing) text += "* not judged: " + cell(why) + "\n";
  for (const std::string& remark : result.remarks) text += "* " + cell(remark) + "\n";
  return text;
}

}  // namespace synctrace
