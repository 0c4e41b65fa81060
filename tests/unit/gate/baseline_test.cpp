// SPDX-License-Identifier: Apache-2.0
// A baseline survives edits, renames and reordering, and lets nothing new through.
#include "gate/baseline.h"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::baseline_test {
namespace {

Fingerprint print(const std::string& file, const std::string& text, std::uint32_t ordinal = 1) {
  return {"ST020", file, "step", line_text_hash(text), ordinal};
}

TEST_CASE("text and back") {
  Baseline baseline;
  baseline.entries = {{print("b.py", "x"), 2, "x"}, {print("a \"quoted\"\n.py", "loss.item()"), 1, "loss.item()"}};
  const std::string text = baseline_text(baseline);
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);  // one finding a line
  const Result<Baseline> again = parse_baseline(text, "b.json");
  REQUIRE(again);
  REQUIRE(again.value().entries.size() == 2);
  CHECK(baseline_text(again.value()) == text);
  CHECK(parse_baseline(baseline_text({}), "b.json").value().entries.empty());
}

TEST_CASE("white space is no change of a line") {
  CHECK(line_text_hash("loss.item( )") == line_text_hash("  loss.item()\t"));
  CHECK(line_text_hash("loss.item()") != line_text_hash("loss.items()"));
}

TEST_CASE("digests are the same everywhere") { CHECK(print("a.py", "x").digest() == "544f9bc8a89f5fe9"); }

TEST_CASE("pairs") {
  const auto all_there = [](const std::string&) { return false; };
  const auto all_gone = [](const std::string&) { return true; };
  Baseline baseline;
  baseline.entries = {{print("a.py", "x"), 1, ""}, {print("a.py", "y"), 1, ""}};
  using Pairs = std::vector<std::size_t>;
  CHECK(match_baseline(baseline, {print("a.py", "y"), print("a.py", "x")}, all_there) == Pairs{1, 0});
  // A second such line is not the first.
  CHECK(match_baseline(baseline, {print("a.py", "x", 2)}, all_there) == Pairs{kNoMatch, kNoMatch});
  CHECK(match_baseline(baseline, {print("new.py", "x")}, all_there) == Pairs{kNoMatch, kNoMatch});
  CHECK(match_baseline(baseline, {print("new.py", "x"), print("new.py", "y")}, all_gone) == Pairs{0, 1});
  // One finding stands for one entry only.
  baseline.entries.push_back({print("c.py", "x"), 1, ""});
  CHECK(match_baseline(baseline, {print("new.py", "x")}, all_gone) == Pairs{0, kNoMatch, kNoMatch});
}

TEST_CASE("mistakes in a baseline") {
  for (const char* text :
       {"", "[]", "{}", "{\"schema_version\": 2, \"findings\": []}", "{\"schema_version\": 1, \"findings\": [3]}",
        "{\"schema_version\": 1, \"findings\": [{\"rule\": \"ST001\"}]}", "{\"schema_version\": 1}", "[[[[[[["}) {
    INFO(text);
    CHECK_FALSE(parse_baseline(text, "b.json"));
  }
  CHECK(parse_baseline("{\"schema_version\": 1, \"findings\": [{}]}", "b.json")
            .error()
            .message.find("b.json: finding 1: 'rule'") == 0);
}

}  // namespace
}  // namespace synctrace::baseline_test
