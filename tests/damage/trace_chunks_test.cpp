// SPDX-License-Identifier: Apache-2.0
// Chunks that are lost, doubled, cut short, or made to deceive.
#include "format/chunk_reader.h"

#include <filesystem>

#include "format/trace_compress.h"
#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/trace_builder.h"

using namespace synctrace;
using namespace synctrace::format;
using namespace synctrace::testing;

namespace {

Bytes payload_of(std::int64_t time_ns) {
  const Bytes trace = TraceBuilder().add(Clock{time_ns, 0}).bytes();
  return {trace.begin() + sizeof(FileHeader) + sizeof(ChunkHeader), trace.end()};
}

Bytes clock_chunk(std::uint64_t sequence) {
  return chunk_of(payload_of(static_cast<std::int64_t>(sequence)), sequence);
}

std::string clock_line(int time_ns) { return "clock monotonic_ns=" + std::to_string(time_ns) + " realtime_ns=0"; }

Bytes trace_of(std::initializer_list<Bytes> pieces) {
  Bytes bytes = file_header_bytes();
  for (const Bytes& piece : pieces) append(bytes, piece);
  return bytes;
}

// The chunk with a header changed by `change`, its header checksum made right again.
template <class Change>
Bytes with_header(Bytes chunk, Change&& change) {
  ChunkHeader header;
  std::memcpy(&header, chunk.data(), sizeof(header));
  change(header);
  header.header_crc = crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(ChunkHeader, header_crc)));
  std::memcpy(chunk.data(), &header, sizeof(header));
  return chunk;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a hole in the numbering is counted, and reading goes on") {
  const Loaded loaded = load(trace_of({clock_chunk(2), clock_chunk(3), clock_chunk(7)}));
  CHECK(loaded.records == Lines{clock_line(2), clock_line(3), clock_line(7)});
  CHECK(loaded.damage.missing_chunks == 5);
  CHECK(loaded.damage.skipped_bytes == 0);
}

TEST_CASE("a chunk that comes twice, or late, is read once") {
  const Loaded loaded =
      load(trace_of({clock_chunk(0), clock_chunk(1), clock_chunk(1), clock_chunk(0), clock_chunk(2)}));
  CHECK(loaded.records == Lines{clock_line(0), clock_line(1), clock_line(2)});
  CHECK(loaded.damage.bad_chunks == 2);
}

TEST_CASE("the largest sequence number does not begin the numbering anew") {
  const Bytes last = chunk_of(payload_of(5), ~std::uint64_t{0});
  const Loaded loaded = load(trace_of({clock_chunk(0), last, clock_chunk(0)}));
  CHECK(loaded.records == Lines{clock_line(0)});
  CHECK(loaded.damage.bad_chunks == 2);
}

TEST_CASE("foreign bytes between chunks are skipped and counted") {
  const Bytes junk = bytes_of("CHNCHNKCHNKxxxxCHNK");
  const Loaded loaded =
      load(trace_of({junk, clock_chunk(0), junk, Bytes(100'000, std::byte{0}), clock_chunk(1), junk}));
  CHECK(loaded.records == Lines{clock_line(0), clock_line(1)});
  CHECK(loaded.damage.skipped_bytes == 3 * junk.size() + 100'000);
  CHECK(loaded.damage.missing_chunks == 0);
}

TEST_CASE("a write cut short costs its own chunk only") {
  Bytes partial = chunk_of(Bytes(1000, std::byte{'x'}), 1);
  partial.resize(200);
  const Loaded loaded = load(trace_of({clock_chunk(0), partial, clock_chunk(2), clock_chunk(3)}));
  CHECK(loaded.records == Lines{clock_line(0), clock_line(2), clock_line(3)});
  CHECK(loaded.damage.missing_chunks == 1);
  CHECK(loaded.damage.skipped_bytes == 200);
}

TEST_CASE("a chunk inside an intact chunk's text is text") {
  const Bytes inner = clock_chunk(1);
  const std::string text(reinterpret_cast<const char*>(inner.data()), inner.size());
  const Loaded loaded = load(TraceBuilder().add(Fact{"key", text}).bytes());
  CHECK(loaded.records.size() == 1);
  CHECK(loaded.damage.none());
}

TEST_CASE("lengths beyond the bounds are no header") {
  const auto skipped = [&](auto&& change) {
    const Bytes bad = with_header(clock_chunk(1), change);
    const Loaded loaded = load(trace_of({clock_chunk(0), bad, clock_chunk(2)}));
    CHECK(loaded.records == Lines{clock_line(0), clock_line(2)});
    CHECK(loaded.damage.skipped_bytes == bad.size());
    CHECK(loaded.damage.bad_chunks == 0);
  };
  skipped([](ChunkHeader& header) { header.stored_bytes = kMaxChunkBytes + 1; });
  skipped([](ChunkHeader& header) { header.raw_bytes = 0xffffffff; });
}

TEST_CASE("a header that contradicts its payload is a bad chunk") {
  const auto bad = [&](auto&& change) {
    const Bytes chunk = with_header(clock_chunk(1), change);
    const Loaded loaded = load(trace_of({clock_chunk(0), chunk, clock_chunk(2)}));
    CHECK(loaded.records == Lines{clock_line(0), clock_line(2)});
    CHECK(loaded.damage.bad_chunks == 1);
    CHECK(loaded.damage.skipped_bytes == chunk.size());
  };
  bad([](ChunkHeader& header) { ++header.raw_bytes; });
  bad([](ChunkHeader& header) { header.codec = static_cast<Codec>(2); });
  bad([](ChunkHeader& header) { header.codec = Codec::kZstd; });  // the payload is no zstd frame
  bad([](ChunkHeader& header) { header.payload_crc ^= 1U; });
}

TEST_CASE("a zstd frame must be exactly as long as declared") {
  const TemporaryFolder folder;
  TraceBuilder trace;
  for (int i = 0; i < 1000; ++i) trace.add(Clock{i, i});
  const std::string path = folder.write("a.synctrace", trace.bytes());
  REQUIRE(compress_trace(path));
  Bytes chunk = bytes_of(read_file(path));
  chunk.erase(chunk.begin(), chunk.begin() + sizeof(FileHeader));
  CHECK(load(trace_of({chunk})).records.size() == 1000);
  for (const int change : {-1, 1, 100'000}) {
    const auto lie = [&](ChunkHeader& header) { header.raw_bytes += static_cast<std::uint32_t>(change); };
    const Loaded loaded = load(trace_of({with_header(chunk, lie)}));
    CHECK(loaded.records.empty());
    CHECK(loaded.damage.bad_chunks == 1);
  }
}

TEST_CASE("without its first chunk a trace is read by the built-in layouts") {
  TraceBuilder trace;
  trace.schemas().end_chunk().add(Fact{"rank", "3"}).add(Clock{7, 8});
  const Bytes whole = trace.bytes();
  Bytes broken = whole;
  broken[sizeof(FileHeader) + sizeof(ChunkHeader) + 5] ^= std::byte{1};
  const Loaded loaded = load(broken);
  CHECK(loaded.records == Lines{"fact key=\"rank\" value=\"3\"", "clock monotonic_ns=7 realtime_ns=8"});
  CHECK(loaded.damage.missing_chunks == 1);
  CHECK(loaded.damage.bad_chunks == 1);
}

TEST_CASE("headers that all claim the longest payload cost linear time") {
  // Read with a search inside each, this would be some 500 GiB of checksums.
  const Bytes claim = with_header(chunk_of({}, 0), [](ChunkHeader& header) {
    header.stored_bytes = header.raw_bytes = kMaxChunkBytes;
    header.payload_crc = 1;
  });
  Bytes bytes = file_header_bytes();
  while (bytes.size() < 2 * std::size_t{kMaxChunkBytes}) append(bytes, claim);
  const std::size_t junk = bytes.size() - sizeof(FileHeader);
  append(bytes, clock_chunk(0));
  const Loaded loaded = load(bytes);
  CHECK(loaded.damage.bad_chunks + (loaded.damage.truncated ? 1 : 0) <= 6);
  CHECK(loaded.damage.skipped_bytes >= junk);
}
