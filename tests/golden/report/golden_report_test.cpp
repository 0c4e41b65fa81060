// SPDX-License-Identifier: Apache-2.0
// Every trace of the golden folders, reported, gives exactly the NAME.screen.txt, .report.txt, .report.json, .report.md
// and .report.csv beside it. A trace is NAME.trace.txt, written by hand, or NAME.synctrace, recorded on a real GPU.
// The reports of frameworks/ and studies/ are large: only first screens of several widths are kept, and for frameworks/
// the full text. The digest is NAME.digest.txt, and its JSON NAME.changes.json; of frameworks/ the digest alone is
// kept. SYNCTRACE_BLESS=1 writes the expected files instead; review them as text before committing.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "attribution/attribute.h"
#include "base/format_text.h"
#include "findings/build_report.h"
#include "format/trace_text.h"
#include "model/load_trace.h"
#include "render/columns.h"
#include "render/digest_parts.h"
#include "render/first_screen.h"
#include "render/render_changes.h"
#include "render/render_csv.h"
#include "render/render_digest.h"
#include "render/render_json.h"
#include "render/render_markdown.h"
#include "render/render_text.h"
#include "support/catch.h"
#include "support/golden_traces.h"

namespace synctrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTextEnding = ".trace.txt";

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Fixture {
  fs::path trace;
  std::string name;  // the file's, without the ending

  bool is_study() const { return trace.parent_path().filename() == "studies"; }
  bool is_large() const { return is_study() || trace.parent_path().filename() == "frameworks"; }
  bool is_text() const { return trace.filename().string().ends_with(kTextEnding); }
  fs::path expected(const std::string& ending) const { return trace.parent_path() / (name + ending); }
  fs::path screen(std::size_t columns) const {
    if (!is_large()) return expected(".screen.txt");
    return trace.parent_path() / format_text("columns_{}", columns) / (name + ".txt");
  }
};

std::vector<Fixture> fixtures() {
  std::vector<Fixture> result;
  for (const testing::GoldenTrace& trace : testing::golden_traces(SYNCTRACE_GOLDEN_FOLDER)) {
    result.push_back({trace.path, trace.name});
  }
  return result;
}

std::vector<std::byte> bytes_of(const Fixture& fixture) {
  const std::string content = content_of(fixture.trace);
  if (!fixture.is_text()) {
    const auto* data = reinterpret_cast<const std::byte*>(content.data());
    return {data, data + content.size()};
  }
  Result<std::vector<std::byte>> bytes = format::assemble_text(content, fixture.trace.filename().string());
  if (!bytes) FAIL(bytes.error().message);
  return std::move(bytes).value();
}

// The trace is named after its fixture, so no path of the machine gets into a report; nothing else varies.
Report report_of(const Fixture& fixture) {
  const Result<Trace> trace = load_trace_bytes(bytes_of(fixture), fixture.name + ".synctrace");
  if (!trace) FAIL(trace.error().message);
  const Attribution attribution = attribute(trace.value());
  for (const auto& [id, state] : attribution.devices) {
    REQUIRE(state.compute_ns + state.copy_only_ns + state.idle_ns == state.window_ns);
  }
  REQUIRE(attribution.breaches.empty());
  Report report = build_report(trace.value(), attribution, {});
  const auto sum_of = [](const std::vector<IdleCause>& causes) {
    Nanoseconds sum = 0;
    for (const IdleCause& cause : causes) sum += cause.idle_ns;
    return sum;
  };
  for (const DeviceReport& device : report.devices) {
    REQUIRE(sum_of(device.causes) == device.state.idle_ns);
    REQUIRE(sum_of(device.copy_causes) == device.state.copy_only_ns);
  }
  return report;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin))
    widest = std::max(widest, columns_of(std::string_view(text).substr(begin, end - begin)));
  return widest;
}

void compare(const fs::path& path, const std::string& produced) {
  if (std::getenv("SYNCTRACE_BLESS") != nullptr) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << produced;
    return;
  }
  CAPTURE(path.string());
  CHECK(produced == content_of(path));
}

}  // namespace

TEST_CASE("reports of the fixtures are as blessed") {
  const std::vector<Fixture> all = fixtures();
  REQUIRE_FALSE(all.empty());
  for (const Fixture& fixture : all) {
    const Report report = report_of(fixture);
    for (const std::size_t columns : {80U, 100U, 160U}) {
      if (columns == 100 || fixture.is_large())
        compare(fixture.screen(columns), render_first_screen(report, {columns}));
    }
    const std::string text = render_text(report, {});
    CHECK(text.find('\x1b') == std::string::npos);
    if (!fixture.is_study()) compare(fixture.expected(".report.txt"), text);
    const ReportDigest digest = digest_of(report, 1);
    if (!fixture.is_study()) compare(fixture.expected(".digest.txt"), render_digest(digest));
    if (fixture.is_large()) continue;
    compare(fixture.expected(".report.json"), render_json({&report, 1}));
    compare(fixture.expected(".changes.json"), render_changes(digest));
    compare(fixture.expected(".report.md"), render_markdown({&report, 1}));
    compare(fixture.expected(".report.csv"), render_csv({&report, 1}));
  }
}

TEST_CASE("a digest has room for one change at least, and is within its limits") {
  for (const Fixture& fixture : fixtures()) {
    const Report report = report_of(fixture);
    CAPTURE(fixture.name);
    const ReportDigest digest = digest_of(report, 1);
    const std::string text = render_digest(digest);
    CHECK(text.size() <= kMostDigestBytes);
    CHECK(most_tokens(text) <= kMostDigestTokens);
    CHECK((text.find("change 1, ") != std::string::npos) == !digest.changes.empty());
    CHECK(std::count(text.begin(), text.end(), '`') % 2 == 0);
    CHECK(render_changes(digest).size() <= kMostChangesBytes);
  }
}

TEST_CASE("texts fit the columns that there are, and are coloured only when asked") {
  for (const Fixture& fixture : fixtures()) {
    const Report report = report_of(fixture);
    for (const std::size_t columns : {80U, 100U, 137U, 200U}) {
      CAPTURE(fixture.name, columns);
      CHECK(widest_line(render_text(report, {columns})) <= std::max(columns, kFewestTextColumns));
      const std::string screen = render_first_screen(report, {columns});
      CAPTURE(screen);
      CHECK(widest_line(screen) <= columns);
      CHECK(static_cast<std::size_t>(std::count(screen.begin(), screen.end(), '\n')) <= kMostScreenLines);
      CHECK(screen.find('\x1b') == std::string::npos);
    }
    CHECK(render_text(report, {100, true}).find("\x1b[1m") != std::string::npos);
    CHECK(render_first_screen(report, {100, true}).find("\x1b[") != std::string::npos);
  }
}

}  // namespace synctrace
