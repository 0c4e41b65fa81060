// SPDX-License-Identifier: Apache-2.0
#include "format/trace_writer.h"

#include <string>

#include "support/catch.h"
#include "support/sample_records.h"
#include "support/trace_builder.h"

using namespace synctrace;
using namespace synctrace::format;
using namespace synctrace::testing;

TEST_CASE("the checksum is CRC-32C") {
  // The check value of the CRC catalogue, and the vectors of RFC 3720 B.4.
  CHECK(crc32c(bytes_of("123456789")) == 0xe3069283);
  CHECK(crc32c(Bytes(32, std::byte{0})) == 0x8a9136aa);
  CHECK(crc32c(Bytes(32, std::byte{0xff})) == 0x62a8ab43);
  CHECK(crc32c({}) == 0);
}

TEST_CASE("an empty chunk is not written") {
  Bytes buffer(ChunkWriter::kMinBufferBytes);
  ChunkWriter writer(buffer);
  CHECK(writer.empty());
  CHECK(writer.finish().empty());
  REQUIRE(writer.add(Clock{1, 2}));
  CHECK_FALSE(writer.empty());
  CHECK(writer.payload_bytes() == 4);
  CHECK(writer.finish().size() == sizeof(ChunkHeader) + 4);
  CHECK(writer.finish().empty());
}

TEST_CASE("chunks are numbered from zero and begin their deltas anew") {
  Bytes buffer(ChunkWriter::kMinBufferBytes);
  ChunkWriter writer(buffer);
  Bytes first;
  REQUIRE(writer.add(Clock{1000, 2000}));
  append(first, writer.finish());
  REQUIRE(writer.add(Clock{1000, 2000}));
  Bytes second;
  append(second, writer.finish());
  ChunkHeader header;
  std::memcpy(&header, first.data(), sizeof(header));
  CHECK(header.sequence == 0);
  std::memcpy(&header, second.data(), sizeof(header));
  CHECK(header.sequence == 1);
  CHECK(Bytes(first.begin() + sizeof(header), first.end()) == Bytes(second.begin() + sizeof(header), second.end()));
}

TEST_CASE("a full chunk refuses a record and stays intact") {
  Bytes buffer(ChunkWriter::kMinBufferBytes);
  ChunkWriter writer(buffer);
  const std::string text(kMaxTextBytes, 'x');
  std::size_t added = 0;
  while (writer.add(Fact{text, text})) ++added;
  CHECK(added >= 2);
  CHECK(writer.record_count() == added);
  Bytes trace = file_header_bytes();
  append(trace, writer.finish());
  CHECK(trace.size() <= sizeof(FileHeader) + ChunkWriter::kMinBufferBytes);
  CHECK(load(trace).records.size() == added);
}

TEST_CASE("a long text is cut to the format's limit") {
  const std::string text(kMaxTextBytes + 1, 'x');
  const Loaded loaded = load(TraceBuilder().add(Fact{"key", text}).bytes());
  CHECK(loaded.damage.none());
  REQUIRE(loaded.records.size() == 1);
  CHECK(loaded.records[0] == "fact key=\"key\" value=\"" + text.substr(0, kMaxTextBytes) + "\"");
}

TEST_CASE("no kind has a record that is too large for a chunk") {
  const std::string text(kMaxTextBytes, 'x');
  for_each_kind([&](const auto& kind) {
    using Record = std::decay_t<decltype(kind)>;
    TraceBuilder trace(ChunkWriter::kMinBufferBytes);
    for (int i = 0; i < 10; ++i) trace.add(largest<Record>(text));
    const Loaded loaded = load(trace.bytes());
    INFO(Record::kName);
    CHECK(loaded.damage.none());
    CHECK(loaded.records.size() == 10);
  });
}

namespace {

struct Value {
  std::uint64_t number = 0;
  std::string_view text;
};

}  // namespace

TEST_CASE("a layout known at run time gives the same bytes") {
  Bytes first_buffer(ChunkWriter::kMinBufferBytes);
  Bytes second_buffer(ChunkWriter::kMinBufferBytes);
  ChunkWriter by_struct(first_buffer);
  ChunkWriter by_fields(second_buffer);
  constexpr Encoding kStream[] = {Encoding::kUnsigned, Encoding::kUnsigned, Encoding::kUnsigned, Encoding::kSigned};
  constexpr Encoding kLoss[] = {Encoding::kDelta, Encoding::kText, Encoding::kUnsigned};
  for (std::int64_t i = 0; i < 5; ++i) {
    REQUIRE(by_struct.add(Stream{ContextId{1}, StreamId{7}, Stream::kNonBlocking, -5}));
    REQUIRE(by_struct.add(Loss{-i * 1000, "ring-full", 300}));
    const Value stream[] = {{1, {}}, {7, {}}, {Stream::kNonBlocking, {}}, {static_cast<std::uint64_t>(-5), {}}};
    const Value loss[] = {{static_cast<std::uint64_t>(-i * 1000), {}}, {0, "ring-full"}, {300, {}}};
    REQUIRE(by_fields.add_fields(number(RecordKind::kStream), std::span(kStream), std::span<const Value>(stream)));
    REQUIRE(by_fields.add_fields(number(RecordKind::kLoss), std::span(kLoss), std::span<const Value>(loss)));
  }
  const auto first = by_struct.finish();
  const auto second = by_fields.finish();
  CHECK(Bytes(first.begin(), first.end()) == Bytes(second.begin(), second.end()));
}

TEST_CASE("a record of too many long texts is refused") {
  Bytes buffer(sizeof(ChunkHeader) + kMaxChunkBytes);
  ChunkWriter writer(buffer);
  const std::string text(kMaxTextBytes, 'x');
  const std::vector<Encoding> encodings(5, Encoding::kText);
  const std::vector<Value> values(5, Value{0, text});
  CHECK(writer.add_fields(50, std::span(encodings).first(3), std::span(values).first(3)));
  CHECK_FALSE(writer.add_fields(50, std::span(encodings), std::span(values)));
}
