// SPDX-License-Identifier: Apache-2.0
// A small trace, cut at every byte and with every byte changed.
#include <filesystem>

#include "format/trace_compress.h"
#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/trace_builder.h"

using namespace synctrace;
using namespace synctrace::format;
using namespace synctrace::testing;

namespace {

// Three chunks of every encoding, without schema records: small enough to change every byte.
Bytes small_trace() {
  TraceBuilder trace;
  trace.add(Fact{"rank", "0"}).add(Clock{1'000'000'000, 1'700'000'000'000'000'000}).end_chunk();
  for (int i = 0; i < 3; ++i) {
    Kernel kernel;
    kernel.begin_ns = 1'000'000'000 + i * 10'000;
    kernel.duration_ns = 2500;
    kernel.correlation = static_cast<CorrelationId>(i);
    trace.add(kernel).add(Stream{ContextId{1}, StreamId{7}, 0, -5});
  }
  trace.end_chunk().add(Loss{1'000'050'000, "ring-full", 3}).add(End{1'000'060'000, 9, "exit"});
  return trace.bytes();
}

Bytes trace_with_schemas() {
  TraceBuilder trace;
  trace.schemas().end_chunk();
  const Bytes small = small_trace();
  Bytes bytes = trace.bytes();
  auto reader = ChunkReader::from_bytes(small, "small");
  Chunk chunk;
  for (std::uint64_t sequence = 1; reader.value().next(chunk); ++sequence)
    append(bytes, chunk_of(chunk.payload, sequence));
  return bytes;
}

Bytes compressed_trace() {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.synctrace", trace_with_schemas());
  REQUIRE(compress_trace(path));
  return bytes_of(read_file(path));
}

bool is_subsequence(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  auto at = whole.begin();
  for (const std::string& record : part) {
    at = std::find(at, whole.end(), record);
    if (at == whole.end()) return false;
    ++at;
  }
  return true;
}

bool is_prefix(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

// Offsets at which a cut leaves a shorter but intact trace.
std::vector<std::size_t> chunk_ends(const Bytes& bytes) {
  std::vector<std::size_t> ends = {sizeof(FileHeader)};
  auto reader = ChunkReader::from_bytes(bytes, "whole");
  Chunk chunk;
  while (reader.value().next(chunk)) ends.push_back(ends.back() + sizeof(ChunkHeader) + chunk.stored.size());
  return ends;
}

void check_every_cut(const Bytes& whole) {
  const std::vector<std::string> records = load(whole).records;
  const std::vector<std::size_t> ends = chunk_ends(whole);
  REQUIRE(ends.back() == whole.size());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Loaded cut = load(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    const bool at_chunk_end = std::find(ends.begin(), ends.end(), size) != ends.end();
    const bool too_short = size < sizeof(FileHeader);
    INFO("cut to " << size << " bytes");
    if (too_short != !cut.error.empty()) FAIL("refused exactly when the file header is cut");
    if (!is_prefix(cut.records, records)) FAIL("more or other records than the original has");
    if (!too_short && cut.damage.none() != at_chunk_end) FAIL("the loss is not told");
    if (!too_short && cut.damage.truncated == at_chunk_end) FAIL("not called truncated");
  }
}

void check_every_flip(const Bytes& whole, const std::vector<unsigned>& masks) {
  const std::vector<std::string> records = load(whole).records;
  REQUIRE_FALSE(records.empty());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned mask : masks) {
      Bytes changed = whole;
      changed[at] ^= static_cast<std::byte>(mask);
      const Loaded loaded = load(std::move(changed));
      INFO("byte " << at << " xor " << mask);
      if (!is_subsequence(loaded.records, records)) FAIL("records that the original does not have");
      if (loaded.error.empty() && loaded.damage.none()) FAIL("the damage is not told");
      const bool in_header = at < sizeof(FileHeader);
      if (in_header && at >= sizeof(kFileMagic) && loaded.records != records)
        FAIL("a damaged file header costs records");
    }
  }
}

}  // namespace

TEST_CASE("a trace cut at any byte is the beginning of the whole") {
  check_every_cut(small_trace());
  check_every_cut(trace_with_schemas());
  check_every_cut(compressed_trace());
}

TEST_CASE("any change of any byte of a small trace is noticed") {
  std::vector<unsigned> masks;
  for (unsigned mask = 1; mask < 256; ++mask) masks.push_back(mask);
  check_every_flip(small_trace(), masks);
}

TEST_CASE("a change of any byte is noticed, schemas and compressed chunks included") {
  const std::vector<unsigned> masks = {0x01, 0x80, 0xff};
  check_every_flip(trace_with_schemas(), masks);
  check_every_flip(compressed_trace(), masks);
}

TEST_CASE("a file that shrinks while it is read ends there") {
  const TemporaryFolder folder;
  TraceBuilder trace(ChunkWriter::kMinBufferBytes);
  const std::string text(kMaxTextBytes, 'x');
  for (int i = 0; i < 200; ++i) trace.add(Fact{std::to_string(i), text});
  const std::string path = folder.write("a.synctrace", trace.bytes());
  auto reader = TraceReader::open(path);
  REQUIRE(reader);
  RecordView record;
  REQUIRE(reader.value().next(record));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  std::size_t read = 1;
  while (reader.value().next(record)) ++read;
  CHECK(read > 10);
  CHECK(read < 200);
  CHECK_FALSE(reader.value().damage().none());
}
