// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "gate/gate_words.h"
#include "gate/render_ci.h"
#include "render/xml_text.h"

namespace synctrace {
namespace {

class Suite {
 public:
  void add(const Finding& finding) {
    if (finding.status == FindingStatus::kHarmless) return;
    const std::string place = place_text(finding);
    begin(finding.path.empty() ? "synctrace" : finding.path, finding.rule_id + "@" + place);
    if (finding.fails)
      failure(finding.message, finding.rule_name, place + ": " + finding.where.source);
    else if (finding.status != FindingStatus::kNew)
      skipped(finding.status == FindingStatus::kAllowed ? "allowed: " + finding.reason : "in the baseline");
    std::string stack;
    for (const ShownFrame& shown : finding.where.stack) {
      if (shown.hidden) continue;
      stack += shown.frame.function +
               (shown.frame.file.empty() ? "" : " " + shown.frame.file + ":" + std::to_string(shown.frame.line)) + "\n";
    }
    text_ += "   <system-out>" + xml_text(finding.message) + "\n" + lines(stack) + "</system-out>\n";
    text_ += "  </testcase>\n";
  }

  void add(const Complaint& complaint) {
    begin(complaint.path.empty() ? "synctrace" : complaint.path, complaint.id);
    if (complaint.fails) failure(complaint.message, complaint.id, complaint.message);
    text_ += "  </testcase>\n";
  }

  void add_not_judged(const std::string& why) {
    begin("synctrace", "judged");
    ++errors_;
    text_ += "   <error type=\"nothing-to-judge\" message=\"" + xml_text(why) + "\"/>\n  </testcase>\n";
  }

  std::string text() {
    if (tests_ == 0) {
      begin("synctrace", "no unexpected synchronisation");
      text_ += "  </testcase>\n";
    }
    const std::string counts = "tests=\"" + std::to_string(tests_) + "\" failures=\"" + std::to_string(failures_) +
                               "\" errors=\"" + std::to_string(errors_) + "\"";
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"synctrace gate\" " + counts +
           ">\n <testsuite name=\"synctrace gate\" " + counts + " skipped=\"" + std::to_string(skipped_) +
           "\" time=\"0\">\n" + text_ + " </testsuite>\n</testsuites>\n";
  }

 private:
  void begin(const std::string& class_name, const std::string& name) {
    ++tests_;
    text_ += "  <testcase classname=\"" + xml_text(class_name) + "\" name=\"" + xml_text(name) + "\" time=\"0\">\n";
  }

  void failure(const std::string& message, const std::string& type, const std::string& body) {
    ++failures_;
    text_ += "   <failure type=\"" + xml_text(type) + "\" message=\"" + xml_text(message) + "\">" + xml_text(body) +
             "</failure>\n";
  }

  void skipped(const std::string& message) {
    ++skipped_;
    text_ += "   <skipped message=\"" + xml_text(message) + "\"/>\n";
  }

  // Escaped line by line: the line ends stay.
  static std::string lines(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      out += xml_text(text.substr(0, end)) + "\n";
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return out;
  }

  std::string text_;
  std::size_t tests_ = 0;
  std::size_t failures_ = 0;
  std::size_t errors_ = 0;
  std::size_t skipped_ = 0;
};

}  // namespace

std::string render_junit(const GateResult& result) {
  Suite suite;
  for (const Finding& finding : result.findings) suite.add(finding);
  for (const Complaint& complaint : result.complaints) suite.add(complaint);
  for (const std::string& why : result.nothing) suite.add_not_judged(why);
  return suite.text();
}

}  // namespace synctrace
