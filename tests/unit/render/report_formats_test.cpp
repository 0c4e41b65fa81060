// SPDX-License-Identifier: Apache-2.0
// Markdown and CSV of texts that the program under test chose: nothing in them becomes markup, a cell or a formula.
#include <string>
#include <vector>

#include "render/render_csv.h"
#include "render/render_markdown.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

Report report_with(const std::string& text) {
  Report report;
  report.path = "t.synctrace";
  report.has_timeline = true;
  IdleCause cause;
  cause.name = "host-compute";
  cause.where.file = text;
  cause.where.line = 7;
  cause.where.function = text;
  cause.where.source = text;
  cause.idle_ns = 1'000;
  DeviceReport device;
  device.state = {2'000, 1'000, 0, 1'000};
  device.causes = {cause};
  report.devices = {device};
  return report;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find("\r\n"); end != std::string::npos; end = text.find("\r\n", begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  REQUIRE(begin == text.size());
  return lines;
}

// The cells of a line by RFC 4180.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool doubled = quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"';
    if (doubled)
      cells.back() += line[i++];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += line[i];
  }
  REQUIRE_FALSE(quoted);
  return cells;
}

std::string csv_source(const std::string& text) {
  const Report report = report_with(text);
  const std::vector<std::string> lines = lines_of(render_csv({&report, 1}));
  REQUIRE(lines.size() == 2);
  const std::vector<std::string> names = cells_of(lines[0]);
  const std::vector<std::string> cells = cells_of(lines[1]);
  REQUIRE(cells.size() == names.size());
  REQUIRE(names[9] == "source");
  CHECK(cells[14] == "1000");
  return cells[9];
}

}  // namespace

TEST_CASE("texts come back from CSV as they were") {
  for (const char* text : {"x = f(a, b)", "say(\"hi\")", "\"", ",", "a\nb", "\u00e9\u4e2d", ""})
    CHECK(csv_source(text) == text);
}

TEST_CASE("what a spreadsheet would take for a formula has an apostrophe in front") {
  for (const char* text : {"=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\tx"})
    CHECK(csv_source(text) == std::string("'") + text);
}

TEST_CASE("a code span holds any text and ends where it should") {
  CHECK(markdown_code("").empty());
  CHECK(markdown_code("x = 1") == "`x = 1`");
  CHECK(markdown_code("a | b") == "`a \\| b`");
  CHECK(markdown_code("a `b` c") == "``a `b` c``");
  CHECK(markdown_code("`` ` ```") == "```` `` ` ``` ````");
  CHECK(markdown_code("<img src=x> @you #1 [l](u)") == "`<img src=x> @you #1 [l](u)`");
  CHECK(markdown_code(std::string(500, 'x')).size() == 82);
}

TEST_CASE("a table of Markdown keeps its cells, whatever the source says") {
  const Report report = report_with("a | b `c` || d");
  const std::string text = render_markdown({&report, 1});
  const std::size_t row = text.find("| host-compute |");
  REQUIRE(row != std::string::npos);
  const std::size_t begin = text.rfind('\n', row) + 1;
  const std::string line = text.substr(begin, text.find('\n', row) - begin);
  std::size_t bars = 0;
  for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
  CHECK(bars == 11);
}

}  // namespace synctrace::testing
