// SPDX-License-Identifier: Apache-2.0
// Every NAME.trace.txt of this folder, assembled and reported, gives exactly NAME.report.txt and NAME.report.json.
// SYNCTRACE_BLESS=1 writes the expected files instead; review them as text before committing.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "attribution/attribute.h"
#include "format/trace_text.h"
#include "model/load_trace.h"
#include "report/build_report.h"
#include "report/render_json.h"
#include "report/render_text.h"
#include "support/catch.h"

namespace synctrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTraceEnding = ".trace.txt";

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> fixture_names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(SYNCTRACE_GOLDEN_FOLDER)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(kTraceEnding)) names.push_back(file.substr(0, file.size() - kTraceEnding.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The trace is named after its fixture, so no path of the machine gets into a report; nothing else varies.
Report report_of(const std::string& name) {
  const fs::path source = fs::path(SYNCTRACE_GOLDEN_FOLDER) / (name + std::string(kTraceEnding));
  Result<std::vector<std::byte>> bytes = format::assemble_text(content_of(source), source.filename().string());
  if (!bytes) FAIL(bytes.error().message);
  const Result<Trace> trace = load_trace_bytes(std::move(bytes).value(), name + ".synctrace");
  if (!trace) FAIL(trace.error().message);
  const Attribution attribution = attribute(trace.value());
  for (const auto& [id, state] : attribution.devices) {
    REQUIRE(state.compute_ns + state.copy_only_ns + state.idle_ns == state.window_ns);
  }
  return build_report(trace.value(), attribution, {});
}

void compare(const std::string& file, const std::string& produced) {
  const fs::path path = fs::path(SYNCTRACE_GOLDEN_FOLDER) / file;
  if (std::getenv("SYNCTRACE_BLESS") != nullptr) {
    std::ofstream(path, std::ios::binary) << produced;
    return;
  }
  CAPTURE(file);
  CHECK(produced == content_of(path));
}

}  // namespace

TEST_CASE("reports of the fixtures are as blessed") {
  const std::vector<std::string> names = fixture_names();
  REQUIRE_FALSE(names.empty());
  for (const std::string& name : names) {
    const Report report = report_of(name);
    const std::string text = render_text(report, {});
    compare(name + ".report.txt", text);
    compare(name + ".short.txt", render_text(report, {TextLength::kShort, false}));
    compare(name + ".report.json", render_json({&report, 1}));
    CHECK(text.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("a text report fits 100 columns and is coloured only when asked") {
  for (const std::string& name : fixture_names()) {
    const Report report = report_of(name);
    std::size_t begin = 0;
    const std::string text = render_text(report, {});
    for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin)) {
      CAPTURE(name, text.substr(begin, end - begin));
      CHECK(end - begin <= 100);
    }
    CHECK(render_text(report, {TextLength::kFull, true}).find("\x1b[1m") != std::string::npos);
  }
}

}  // namespace synctrace
