// SPDX-License-Identifier: Apache-2.0
// What each verb does to a baseline: nothing new gets in unless somebody asks for it.
#include "gate/baseline_changes.h"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/temporary_folder.h"

namespace synctrace::baseline_changes_test {
namespace {

Fingerprint print(const std::string& file, const std::string& text) {
  return {"ST020", file, "step", line_text_hash(text), 1};
}

Finding finding(const std::string& file, const std::string& text, std::uint64_t per_step) {
  Finding finding;
  finding.fingerprint = print(file, text);
  finding.where.source = text;
  finding.per_step = per_step;
  return finding;
}

GateResult result_of(std::vector<Finding> findings, std::size_t steps = 10) {
  GateResult result;
  result.traces.resize(1);
  result.traces[0].steps = steps;
  result.findings = std::move(findings);
  return result;
}

// "a.py 2": file and count of each entry.
std::string words(const std::vector<BaselineEntry>& entries) {
  std::string text;
  for (const BaselineEntry& entry : entries)
    text += (text.empty() ? "" : ", ") + entry.fingerprint.file + " " + std::to_string(entry.per_step);
  return text;
}

}  // namespace

TEST_CASE("an entry is a new finding outside of zones") {
  std::vector<Finding> findings;
  for (const FindingStatus status :
       {FindingStatus::kNew, FindingStatus::kAllowed, FindingStatus::kBaseline, FindingStatus::kHarmless}) {
    findings.push_back(finding(std::string(status_word(status)), "x", 2));
    findings.back().status = status;
  }
  findings.push_back(finding("zone", "x", 2));
  findings.back().strict = true;
  const std::vector<BaselineEntry> entries = entries_of(result_of(findings));
  REQUIRE(words(entries) == "new 2");
  CHECK(entries[0].text == "x");
}

TEST_CASE("counts are kept where every trace has steps") {
  GateResult result = result_of({finding("a.py", "x", 2)}, 1);
  CHECK(words(entries_of(result)) == "a.py 2");
  result.traces.emplace_back();
  CHECK(words(entries_of(result)) == "a.py 0");
}

TEST_CASE("create takes all that was found, and forgets what was") {
  Baseline before;
  before.entries = {{print("old.py", "x"), 1, ""}};
  const GateResult found = result_of({finding("a.py", "x", 1), finding("b.py", "y", 2)});
  const BaselineChange change = change_baseline(BaselineVerb::kCreate, before, found, false, Repository("/"));
  CHECK(words(change.result.entries) == "a.py 1, b.py 2");
  CHECK(change.added == 2);
  CHECK(change.refused.empty());
}

TEST_CASE("update follows what is known, and takes nothing new unasked") {
  Baseline before;
  before.entries = {{print("any.py", "x"), 0, ""},  {print("cheaper.py", "x"), 5, ""}, {print("dearer.py", "x"), 2, ""},
                    {print("gone.py", "y"), 1, ""}, {print("renamed.py", "z"), 1, ""}, {print("same.py", "x"), 3, ""}};
  const GateResult found = result_of(
      {finding("any.py", "x", 7), finding("cheaper.py", "x", 4), finding("dearer.py", "x", 3),
       finding("moved.py", "z", 1), finding("new.py", "n", 1), finding("new.py", "o", 1), finding("same.py", "x", 3)});
  const testing::TemporaryFolder empty;
  const Repository repository(empty.path("."));

  const BaselineChange careful = change_baseline(BaselineVerb::kUpdate, before, found, false, repository);
  CHECK(words(careful.result.entries) == "any.py 0, cheaper.py 4, dearer.py 2, gone.py 1, moved.py 1, same.py 3");
  CHECK(words(careful.refused) == "dearer.py 3, new.py 1, new.py 1");
  CHECK(careful.changed == 2);
  CHECK(careful.added == 0);
  CHECK(careful.dropped == 0);

  const BaselineChange asked = change_baseline(BaselineVerb::kUpdate, before, found, true, repository);
  CHECK(words(asked.result.entries) ==
        "any.py 0, cheaper.py 4, dearer.py 3, gone.py 1, moved.py 1, same.py 3, new.py 1, new.py 1");
  CHECK(asked.refused.empty());
  CHECK(asked.changed == 3);
  CHECK(asked.added == 2);
}

TEST_CASE("prune drops what was not found, and changes nothing else") {
  Baseline before;
  before.entries = {{print("a.py", "x"), 5, ""}, {print("gone.py", "y"), 1, ""}};
  const GateResult found = result_of({finding("a.py", "x", 4), finding("new.py", "n", 1)});
  const BaselineChange change = change_baseline(BaselineVerb::kPrune, before, found, true, Repository("/"));
  CHECK(words(change.result.entries) == "a.py 5");
  CHECK(change.dropped == 1);
  CHECK(change.changed == 0);
  CHECK(change.added == 0);
  CHECK(change.refused.empty());
}

}  // namespace synctrace::baseline_changes_test
