// SPDX-License-Identifier: Apache-2.0
// The bytes on disk, pinned: old traces stay readable, and the hex dumps of docs/trace-format.md are what the
// recorder's writer makes.
#include <cstdio>
#include <sstream>

#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/trace_builder.h"

using namespace synctrace;
using namespace synctrace::format;
using namespace synctrace::testing;

namespace {

const std::string kGolden = SYNCTRACE_GOLDEN_FOLDER;

// The hex digits of the code block under a heading: the columns between the offset and the first | of each line.
std::string documented_hex(const std::string& heading) {
  std::istringstream page(read_file(std::string(SYNCTRACE_DOCS_FOLDER) + "/trace-format.md"));
  std::string line;
  std::string digits;
  while (std::getline(page, line) && line != heading) continue;
  while (std::getline(page, line) && line != "```hexdump") continue;
  while (std::getline(page, line) && line != "```") {
    const std::string bytes = line.substr(std::min<std::size_t>(line.size(), 4), line.find('|') - 4);
    for (const char c : bytes) {
      if (c != ' ') digits += c;
    }
  }
  return digits;
}

std::string hex(const Bytes& bytes) {
  std::string digits;
  for (const std::byte byte : bytes) {
    char two[3];
    std::snprintf(two, sizeof(two), "%02x", static_cast<unsigned>(byte));
    digits += two;
  }
  return digits;
}

}  // namespace

TEST_CASE("a trace of each format since 1.0 stays readable") {
  for (const std::string name : {"all_kinds_1_0", "all_kinds_1_1", "all_kinds_1_2"}) {
    CAPTURE(name);
    const Loaded loaded = load(TraceReader::open(kGolden + "/" + name + ".synctrace"));
    CHECK(loaded.error.empty());
    CHECK(loaded.damage.none());
    CHECK(loaded.damage.unknown_records == 0);
    CHECK(loaded.text == read_file(kGolden + "/" + name + ".trace.txt"));
  }
}

TEST_CASE("its text form assembles to the same bytes") {
  for (const std::string name : {"all_kinds_1_0", "all_kinds_1_1", "all_kinds_1_2"}) {
    CAPTURE(name);
    const auto bytes = assemble_text(read_file(kGolden + "/" + name + ".trace.txt"), name);
    REQUIRE(bytes);
    CHECK(bytes.value() == bytes_of(read_file(kGolden + "/" + name + ".synctrace")));
  }
}

TEST_CASE("the golden trace of this format has every kind") {
  const std::string text = read_file(kGolden + "/all_kinds_1_2.trace.txt");
  for_each_schema([&](const Schema& schema) {
    INFO(schema.name);
    CHECK(text.find("\n" + std::string(schema.name) + " ") != std::string::npos);
  });
}

TEST_CASE("the documented dump of an empty trace is what the writer makes") {
  CHECK(documented_hex("### An empty trace") == hex(TraceBuilder().bytes()));
}

TEST_CASE("the documented dump of a launch and its kernel is what the writer makes") {
  TraceBuilder trace;
  Launch launch;
  launch.thread = ThreadId{42};
  launch.begin_ns = 1'000'000;
  launch.duration_ns = 3000;
  launch.api = make_api_id(ApiDomain::kRuntime, 211);
  launch.correlation = CorrelationId{7};
  Kernel kernel;
  kernel.begin_ns = 1'005'000;
  kernel.duration_ns = 20'000;
  kernel.context = ContextId{1};
  kernel.stream = StreamId{7};
  kernel.correlation = CorrelationId{7};
  kernel.name = StringId{1};
  kernel.shape = ShapeId{1};
  const std::string whole = hex(trace.add(launch).add(kernel).bytes());
  CHECK(documented_hex("### A launch and its kernel") == whole.substr(2 * sizeof(FileHeader)));
}

TEST_CASE("every kind and every field is documented, in order") {
  const std::string page = read_file(std::string(SYNCTRACE_DOCS_FOLDER) + "/trace-format.md");
  for_each_schema([&](const Schema& schema) {
    const std::string heading = "\n### `" + std::string(schema.name) + "` (" + std::to_string(schema.kind) + ")\n";
    INFO(heading);
    const std::size_t begin = page.find(heading);
    REQUIRE(begin != std::string::npos);
    std::istringstream section(
        page.substr(begin + heading.size(), page.find("\n#", begin + 1) - begin - heading.size()));
    std::string documented;
    for (std::string line; std::getline(section, line);) {
      if (line.substr(0, 3) != "| `") continue;
      const std::size_t name_end = line.find("` | ");
      REQUIRE(name_end != std::string::npos);
      documented += (documented.empty() ? "" : " ") + line.substr(3, name_end - 3) + ":" + line.substr(name_end + 4, 1);
    }
    CHECK(documented == schema.field_list);
  });
}
