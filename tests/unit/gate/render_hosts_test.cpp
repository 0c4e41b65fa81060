// SPDX-License-Identifier: Apache-2.0
// Texts of the program under test cannot speak to a code host: not by a workflow command, not by a table's cell.
#include <string>

#include "gate/render_ci.h"
#include "support/catch.h"

namespace synctrace::render_hosts_test {
namespace {

GateResult result_of(const std::string& path, const std::string& text) {
  GateResult result;
  Finding& finding = result.findings.emplace_back();
  finding.rule_id = "ST020";
  finding.rule_name = "scalar-read";
  finding.path = path;
  finding.where.line = 7;
  finding.where.source = text;
  finding.message = text;
  finding.figures.calls = 3;
  finding.per_step = 1;
  return result;
}

}  // namespace

TEST_CASE("a workflow command ends where it should, and names its file and title") {
  CHECK(render_github(result_of("odd:name,50%.py", "a::b, 50%\n::error::c")) ==
        "::error file=odd%3Aname%2C50%25.py,line=7,title=ST020 scalar-read::a::b, 50%25?::error::c; fix: Keep the "
        "value on the GPU, and read it less often.\n");
}

TEST_CASE("a cell of Markdown is text") {
  const std::string text = render_gate_markdown(result_of("a_b.py", "x[0] | <b>`*y*` @ada"));
  CHECK(text.find(
            "| error | a\\_b.py:7 | ST020 scalar-read | 3 | 1 | 0 ns | x\\[0\\] \\| \\<b\\>\\`\\*y\\*\\` \\@ada |\n") !=
        std::string::npos);
}

TEST_CASE("a path in SARIF is a URI") {
  CHECK(render_sarif(result_of("my src/50%\xc3\xa9.py", "waits"), false).find("\"uri\": \"my%20src/50%25%C3%A9.py\"") !=
        std::string::npos);
  CHECK(render_sarif(result_of("/opt/a b.py", "waits"), false).find("\"uri\": \"file:///opt/a%20b.py\"") !=
        std::string::npos);
}

TEST_CASE("of each level there are ten annotations, and then how many more") {
  GateResult result;
  for (int i = 0; i < 13; ++i) result.findings.push_back(result_of("a.py", "waits").findings[0]);
  result.findings.back().level = GateLevel::kWarning;
  const std::string text = render_github(result);
  CHECK(
      text.ends_with("::warning file=a.py,line=7,title=ST020 scalar-read::waits; fix: Keep the value on the GPU, and "
                     "read it less often.\n"
                     "::notice title=synctrace gate::2 more are in the log and in the step summary\n"));
}

}  // namespace synctrace::render_hosts_test
