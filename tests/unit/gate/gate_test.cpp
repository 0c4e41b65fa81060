// SPDX-License-Identifier: Apache-2.0
// What a place is called by what its calls did.
#include "gate/gate.h"

#include <string>

#include "support/catch.h"

namespace synctrace {
namespace {

// "new error": status and level of the one place at which calls did that.
std::string judged(const WaitFigures& figures) {
  Observation seen;
  seen.found.surroundings.resize(1);
  WaitGroup group;
  group.steps = {{kOutsideSteps, figures.calls, figures}};
  GateCallSite& site = seen.sites.emplace_back();
  site.calls = {&kStreamSyncRule, {}, {group}};
  site.allowed = {kNotAllowed};
  const GateResult result = judge(std::vector{seen}, {}, AllowBook({}, {2026, 1, 1}), nullptr, Repository("/"));
  REQUIRE(result.findings.size() == 1);
  const Finding& finding = result.findings[0];
  return std::string(status_word(finding.status)) + " " + std::string(level_word(finding.level));
}

}  // namespace

TEST_CASE("a place that waited is an error, one that perhaps did a warning") {
  CHECK(judged({.calls = 4, .waited = 1}) == "new error");
  CHECK(judged({.calls = 4, .waited = 2, .waited_by_length = 2}) == "new error");
  CHECK(judged({.calls = 4, .waited = 1, .waited_by_length = 1}) == "new warning");
  CHECK(judged({.calls = 4, .unclear = 1}) == "new warning");
  CHECK(judged({.calls = 4, .redundant = 4}) == "harmless note");
}

}  // namespace synctrace
