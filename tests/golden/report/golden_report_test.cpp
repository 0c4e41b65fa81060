// SPDX-License-Identifier: Apache-2.0
// Every trace of the golden folders, reported, gives exactly the NAME.report.txt, .short.txt, .report.json, .report.md
// and .report.csv beside it. A trace is NAME.trace.txt, written by hand, or NAME.synctrace, recorded on a real GPU.
// Those of frameworks/ are large: of them only the two texts are kept. SYNCTRACE_BLESS=1 writes the expected files
// instead; review them as text before committing.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "attribution/attribute.h"
#include "findings/build_report.h"
#include "format/trace_text.h"
#include "model/load_trace.h"
#include "render/render_csv.h"
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

  bool is_large() const { return trace.parent_path().filename() == "frameworks"; }
  bool is_text() const { return trace.filename().string().ends_with(kTextEnding); }
  fs::path expected(const std::string& ending) const { return trace.parent_path() / (name + ending); }
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

void compare(const fs::path& path, const std::string& produced) {
  if (std::getenv("SYNCTRACE_BLESS") != nullptr) {
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
    const std::string text = render_text(report, {});
    compare(fixture.expected(".report.txt"), text);
    compare(fixture.expected(".short.txt"), render_text(report, {TextLength::kShort, false}));
    CHECK(text.find('\x1b') == std::string::npos);
    if (fixture.is_large()) continue;
    compare(fixture.expected(".report.json"), render_json({&report, 1}));
    compare(fixture.expected(".report.md"), render_markdown({&report, 1}));
    compare(fixture.expected(".report.csv"), render_csv({&report, 1}));
  }
}

TEST_CASE("a text report fits 100 columns and is coloured only when asked") {
  for (const Fixture& fixture : fixtures()) {
    const Report report = report_of(fixture);
    std::size_t begin = 0;
    const std::string text = render_text(report, {});
    for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin)) {
      CAPTURE(fixture.name, text.substr(begin, end - begin));
      CHECK(end - begin <= 100);
    }
    CHECK(render_text(report, {TextLength::kFull, true}).find("\x1b[1m") != std::string::npos);
  }
}

}  // namespace synctrace
