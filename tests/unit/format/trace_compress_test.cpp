// SPDX-License-Identifier: Apache-2.0
#include "format/trace_compress.h"

#include <sys/stat.h>

#include <filesystem>

#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/trace_builder.h"

using namespace synctrace;
using namespace synctrace::format;
using namespace synctrace::testing;

namespace {

// A trace of several chunks that compress well.
Bytes sample_trace() {
  TraceBuilder trace;
  trace.schemas();
  for (int i = 0; i < 5000; ++i) {
    Kernel kernel;
    kernel.begin_ns = i * 10'000LL;
    kernel.duration_ns = 2500;
    kernel.correlation = static_cast<CorrelationId>(i);
    trace.add(kernel);
    if (i % 1000 == 0) trace.end_chunk();
  }
  return trace.bytes();
}

std::size_t files_in(const TemporaryFolder& folder) {
  const std::filesystem::directory_iterator files(folder.path(""));
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

Compression compressed(const std::string& path) {
  const auto result = compress_trace(path);
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  return result.value();
}

}  // namespace

TEST_CASE("a compressed trace reads as before and is smaller") {
  const TemporaryFolder folder;
  const Bytes bytes = sample_trace();
  const std::string path = folder.write("a.synctrace", bytes);
  const std::string text = load(bytes).text;
  const Compression result = compressed(path);
  CHECK(result.bytes_before == bytes.size());
  CHECK(result.bytes_after == std::filesystem::file_size(path));
  CHECK(result.bytes_after < bytes.size() / 2);
  CHECK(result.compressed_chunks == 6);
  const Loaded loaded = load(TraceReader::open(path));
  CHECK(loaded.damage.none());
  CHECK(loaded.text == text);
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a compressed trace is not compressed again") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.synctrace", sample_trace());
  const Compression first = compressed(path);
  const std::string content = read_file(path);
  const Compression second = compressed(path);
  CHECK(second.bytes_before == first.bytes_after);
  CHECK(second.bytes_after == first.bytes_after);
  CHECK(second.compressed_chunks == 0);
  CHECK(read_file(path) == content);
}

TEST_CASE("a chunk that would not shrink stays raw") {
  const TemporaryFolder folder;
  const Bytes bytes = TraceBuilder().add(Clock{1, 2}).bytes();
  const std::string path = folder.write("a.synctrace", bytes);
  CHECK(compressed(path).compressed_chunks == 0);
  CHECK(read_file(path).size() == bytes.size());
}

TEST_CASE("a damaged trace is left alone") {
  const TemporaryFolder folder;
  const auto left_alone = [&](const Bytes& bytes) {
    const std::string path = folder.write("a.synctrace", bytes);
    const std::string content = read_file(path);
    const auto result = compress_trace(path);
    REQUIRE_FALSE(result);
    CHECK(result.error().message == path + ": not compressed: the trace is damaged");
    CHECK(read_file(path) == content);
    CHECK(files_in(folder) == 1);
  };
  Bytes flipped = sample_trace();
  flipped[flipped.size() / 2] ^= std::byte{1};
  left_alone(flipped);
  Bytes cut = sample_trace();
  cut.pop_back();
  left_alone(cut);
  Bytes header = sample_trace();
  header[20] ^= std::byte{1};
  left_alone(header);
}

TEST_CASE("what is no trace is refused, and nothing is left behind") {
  const TemporaryFolder folder;
  CHECK_FALSE(compress_trace(folder.path("missing.synctrace")));
  CHECK_FALSE(compress_trace(folder.path("")));
  CHECK_FALSE(compress_trace(folder.write("text", bytes_of(std::string(100, 'x')))));
  CHECK(files_in(folder) == 1);
}

TEST_CASE("permissions and symbolic links stay") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.synctrace", sample_trace());
  const std::string link = folder.path("link.synctrace");
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  std::filesystem::create_symlink("a.synctrace", link);
  CHECK(compressed(link).compressed_chunks > 0);
  CHECK(std::filesystem::is_symlink(link));
  CHECK(std::filesystem::status(path).permissions() == static_cast<std::filesystem::perms>(0640));
  CHECK(load(TraceReader::open(path)).damage.none());
}
