// SPDX-License-Identifier: Apache-2.0
// Entries that are printed are entries that can be read, whatever the program's files and functions are called.
#include "gate/print_allow.h"

#include <optional>
#include <string>
#include <vector>

#include "gate/gate_config.h"
#include "support/catch.h"

namespace synctrace {
namespace {

GateConfig read_again(const GateResult& result) {
  const std::string text = allow_entries_text(result);
  CAPTURE(text);
  Result<std::optional<GateConfig>> config = parse_gate_config(text, "synctrace.toml");
  REQUIRE(config);
  REQUIRE(config.value());
  return *config.value();
}

}  // namespace

TEST_CASE("names with quotes and backslashes are read as they were") {
  for (const std::string name : {"train.py", "a\"b.py", "C:\\work\\new.py", "\"\\\"]]"}) {
    GateResult result;
    Finding& finding = result.findings.emplace_back();
    finding.rule_id = "ST020";
    finding.path = name;
    finding.where.line = 7;
    finding.steps = 2;
    finding.per_step = 3;
    const GateConfig config = read_again(result);
    REQUIRE(config.allow.size() == 1);
    CHECK(config.allow[0].at == name + ":7");
    CHECK(config.allow[0].rules == std::vector<std::string>{"ST020"});
    CHECK(config.allow[0].max_per_step == 3U);
  }
}

TEST_CASE("a blank stays a blank") { CHECK(toml_text("my train.py") == "\"my train.py\""); }

TEST_CASE("there are entries for what is new outside of zones, and none of a limit that one step would give") {
  GateResult result;
  for (int i = 0; i < 3; ++i) {
    Finding& finding = result.findings.emplace_back();
    finding.rule_id = "ST001";
    finding.path = "a.py";
    finding.where.function = "f" + std::to_string(i);
    finding.steps = 1;
    finding.per_step = 1;
  }
  result.findings[1].status = FindingStatus::kHarmless;
  result.findings[2].strict = true;
  const GateConfig config = read_again(result);
  REQUIRE(config.allow.size() == 1);
  CHECK(config.allow[0].at == "a.py:f0");
  CHECK_FALSE(config.allow[0].max_per_step);
}

}  // namespace synctrace
