// SPDX-License-Identifier: Apache-2.0
#include "run/trace_manifest.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "format/trace_writer.h"
#include "support/catch.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() { REQUIRE(mkdtemp(path) != nullptr); }
  ~Folder() { fs::remove_all(path); }
  char path[64] = "/tmp/synctrace-manifest-test-XXXXXX";
  std::string file(const char* name) const { return std::string(path) + "/" + name; }
};

void write_header(const std::string& path, std::uint32_t process_id) {
  const format::FileHeader header = format::make_file_header(1, process_id);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&header), sizeof header);
}

void append(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::app) << text; }

TEST_CASE("the manifest lists whole lines, each once, and vanishes") {
  std::string path;
  {
    const TraceManifest manifest;
    path = manifest.path();
    REQUIRE(fs::path(path).is_absolute());
    CHECK(manifest.traces().empty());
    append(path, "/b\n/a\n/b\n/half");
    CHECK(manifest.traces() == std::vector<std::string>{"/b", "/a"});
    append(path, "-done\n");
    CHECK(manifest.traces() == std::vector<std::string>{"/b", "/a", "/half-done"});
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a closed trace stays, a missing one is said to be missing") {
  const Folder folder;
  CHECK(settle_trace(folder.file("x"), 0) == TraceState::kMissing);
  write_header(folder.file("x"), 1);
  CHECK(settle_trace(folder.file("x"), 0) == TraceState::kClosed);
}

TEST_CASE("a trace whose process is gone gets its final name") {
  const Folder folder;
  // This process is alive but has the file not open: its pid was used again.
  for (const std::uint32_t process :
       {std::uint32_t{0}, std::uint32_t{0x3fffffff}, static_cast<std::uint32_t>(getpid())}) {
    write_header(folder.file("x.partial"), process);
    CHECK(settle_trace(folder.file("x"), 0) == TraceState::kCutShort);
    CHECK(fs::exists(folder.file("x")));
    CHECK_FALSE(fs::exists(folder.file("x.partial")));
  }
  append(folder.file("y.partial"), "too short for a header");
  CHECK(settle_trace(folder.file("y"), 0) == TraceState::kCutShort);
}

TEST_CASE("a trace that is being written is left alone") {
  const Folder folder;
  write_header(folder.file("x.partial"), static_cast<std::uint32_t>(getpid()));
  const std::ofstream open(folder.file("x.partial"), std::ios::app);
  CHECK(settle_trace(folder.file("x"), 0) == TraceState::kGrowing);
  CHECK(fs::exists(folder.file("x.partial")));
}

}  // namespace
}  // namespace synctrace::cli
