// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/shown_text.h"
#include "findings/remedies/rule_texts.h"
#include "gate/gate_words.h"
#include "gate/render_ci.h"
#include "render/json_parts.h"
#include "render/render_explanation.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostResults = 25'000;  // in a run: GitHub refuses more
constexpr std::size_t kMostFrames = 100;      // in a stack: GitHub shows no more

// RFC 3986: everything but unreserved characters and '/' in hexadecimal.
std::string uri_of(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~/";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          kPlain.find(c) != std::string_view::npos;
    if (is_plain)
      uri += c;
    else
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return uri;
}

Json location(const std::string& path, std::uint32_t line) {
  Json artifact = {{"uri", uri_of(path)}};
  if (!path.starts_with('/')) artifact["uriBaseId"] = "%SRCROOT%";
  const std::uint32_t shown = std::max<std::uint32_t>(line, 1);
  return {{"physicalLocation",
           {{"artifactLocation", artifact},
            {"region", {{"startLine", shown}, {"startColumn", 1}, {"endLine", shown}, {"endColumn", 1}}}}}};
}

std::string_view sarif_level(GateLevel level) {
  return level == GateLevel::kOff ? std::string_view("none") : level_word(level);
}

struct RuleWords {
  std::string in_short;
  std::string in_full;
  std::string help;
  std::string markdown;
};

RuleWords same_words(const std::string& sentence) { return {sentence, sentence, sentence, sentence}; }

RuleWords words_of(std::string_view rule_id) {
  const RuleText* text = rule_text(rule_id);
  if (text == nullptr) return same_words(rule_sentence(rule_id));
  // Plain texts are at most 1,024 characters, so the code is in the Markdown alone.
  const std::string help = plain_text(text->fix) + " Fine: " + plain_text(text->fine) +
                           " With code: synctrace explain " + std::string(text->id) + ".";
  return {first_sentence(text->what), plain_text(text->what), help, explanation_markdown(*text)};
}

class Run {
 public:
  explicit Run(bool all) : all_(all) {}

  void add(const Finding& finding) {
    const bool is_new = finding.status == FindingStatus::kNew;
    const bool suppressed = finding.status == FindingStatus::kAllowed || finding.status == FindingStatus::kBaseline;
    if (!is_new && !(all_ && suppressed)) return;
    Json result = start(finding.rule_id, finding.rule_name, is_new ? finding.level : GateLevel::kNote, finding.message,
                        words_of(finding.rule_id));
    if (!finding.path.empty()) result["locations"] = Json::array({location(finding.path, finding.where.line)});
    for (const SourceLine& caller : finding.callers) {
      Json place = location(caller.file, caller.line);
      place["message"] = {{"text", "called here"}};
      result["relatedLocations"].push_back(std::move(place));
    }
    result["partialFingerprints"] = {{"primaryLocationLineHash", finding.fingerprint.digest() + ":1"}};
    if (Json flow = stack_flow(finding); !flow.empty())
      result["codeFlows"] = Json::array({{{"threadFlows", Json::array({{{"locations", flow}}})}}});
    if (!finding.ranks.empty()) result["properties"] = {{"ranks", finding.ranks}};
    if (finding.status == FindingStatus::kBaseline) result["baselineState"] = "unchanged";
    if (suppressed)
      result["suppressions"] = Json::array(
          {{{"kind", "external"}, {"justification", finding.reason.empty() ? "in the baseline" : finding.reason}}});
    push(std::move(result));
  }

  void add(const Complaint& complaint) {
    Json result = start("gate/" + complaint.id, complaint.id, complaint.level, complaint.message,
                        same_words("A rule of the gate's own: see docs/gate.md."));
    if (!complaint.path.empty()) result["locations"] = Json::array({location(complaint.path, complaint.line)});
    Digest digest;
    digest.add(complaint.id);
    digest.add(complaint.path);
    digest.add(complaint.message);
    result["partialFingerprints"] = {{"primaryLocationLineHash", digest.hex() + ":1"}};
    push(std::move(result));
  }

  std::string text(const GateResult& gate) const {
    Json notifications = Json::array();
    for (const std::string& why : gate.nothing)
      notifications.push_back({{"level", "error"}, {"message", {{"text", printable(why)}}}});
    for (const std::string& remark : gate.remarks)
      notifications.push_back({{"level", "note"}, {"message", {{"text", printable(remark)}}}});
    Json invocation = {{"executionSuccessful", gate.status != GateStatus::kNothing}};
    if (!notifications.empty()) invocation["toolExecutionNotifications"] = notifications;
    const Json driver = {{"name", "synctrace"}, {"semanticVersion", SYNCTRACE_VERSION}, {"rules", rules_}};
    const Json run = {{"tool", {{"driver", driver}}},
                      {"automationDetails", {{"id", "synctrace/gate/"}}},
                      {"invocations", Json::array({invocation})},
                      {"columnKind", "utf16CodeUnits"},
                      {"results", results_}};
    const Json root = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                       {"version", "2.1.0"},
                       {"runs", Json::array({run})}};
    return root.dump(1) + "\n";
  }

 private:
  Json start(const std::string& id, const std::string& name, GateLevel level, const std::string& message,
             const RuleWords& words) {
    return {{"ruleId", id},
            {"ruleIndex", rule_index(id, name, words)},
            {"level", sarif_level(level)},
            {"message", {{"text", printable(message)}}}};
  }

  std::size_t rule_index(const std::string& id, const std::string& name, const RuleWords& words) {
    const auto known = std::find(ids_.begin(), ids_.end(), id);
    if (known != ids_.end()) return static_cast<std::size_t>(known - ids_.begin());
    ids_.push_back(id);
    rules_.push_back({{"id", id},
                      {"name", name},
                      {"shortDescription", {{"text", words.in_short}}},
                      {"fullDescription", {{"text", words.in_full}}},
                      {"help", {{"text", words.help}, {"markdown", words.markdown}}},
                      {"defaultConfiguration", {{"level", "error"}}},
                      {"properties", {{"precision", "very-high"}, {"tags", Json::array({"performance", "gpu"})}}}});
    return ids_.size() - 1;
  }

  static Json stack_flow(const Finding& finding) {
    Json flow = Json::array();
    for (const ShownFrame& shown : finding.where.stack) {
      if (shown.hidden || shown.frame.file.empty() || shown.frame.line == 0 || flow.size() == kMostFrames) continue;
      Json place = location(shown.frame.file, shown.frame.line);
      place["message"] = {{"text", shown.frame.function.empty() ? "?" : shown.frame.function}};
      flow.push_back({{"location", place}});
    }
    return flow;
  }

  void push(Json result) {
    if (results_.size() < kMostResults) results_.push_back(std::move(result));
  }

  bool all_;
  std::vector<std::string> ids_;
  Json rules_ = Json::array();
  Json results_ = Json::array();
};

}  // namespace

std::string render_sarif(const GateResult& result, bool all) {
  Run run(all);
  for (const Finding& finding : result.findings) run.add(finding);
  for (const Complaint& complaint : result.complaints) run.add(complaint);
  return run.text(result);
}

}  // namespace synctrace
