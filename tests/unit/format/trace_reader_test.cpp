// SPDX-License-Identifier: Apache-2.0
#include "format/trace_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "support/catch.h"
#include "support/sample_records.h"
#include "support/temporary_folder.h"
#include "support/trace_builder.h"

using namespace synctrace;
using namespace synctrace::format;
using namespace synctrace::testing;

namespace {

// Writes the records, reads them back as structs, and compares field by field.
template <class Record>
void check_round_trip(const std::vector<Record>& records) {
  TraceBuilder trace;
  trace.schemas();
  for (const Record& record : records) trace.add(record);
  auto reader = TraceReader::from_bytes(trace.bytes(), "test");
  REQUIRE(reader);
  RecordView view;
  std::size_t read = 0;
  std::size_t different = 0;
  while (reader.value().next(view)) {
    visit(view, [&](const Record& record) {
      if (read >= records.size() || !same_fields(record, records[read])) ++different;
      ++read;
    });
  }
  INFO(Record::kName);
  CHECK(read == records.size());
  CHECK(different == 0);
  CHECK(reader.value().damage().none());
  CHECK(reader.value().damage().unknown_records == 0);
}

}  // namespace

TEST_CASE("every kind survives with the smallest and the largest values") {
  const std::string every_byte = [] {
    std::string text;
    for (int i = 0; i < 256; ++i) text += static_cast<char>(i);
    return text;
  }();
  for_each_kind([&](const auto& kind) {
    using Record = std::decay_t<decltype(kind)>;
    // Each change between the extremes makes a delta of the largest size, in both directions.
    check_round_trip<Record>({Record{}, smallest<Record>(), largest<Record>(every_byte), smallest<Record>(),
                              largest<Record>(std::string_view()), Record{}});
  });
}

TEST_CASE("every kind survives with random values") {
  std::mt19937_64 random(20261121);
  for_each_kind([&](const auto& kind) {
    using Record = std::decay_t<decltype(kind)>;
    std::vector<Record> records;
    for (int i = 0; i < 200; ++i) records.push_back(random_record<Record>(random, i % 2 == 0 ? "" : "text"));
    check_round_trip(records);
  });
}

TEST_CASE("the file header comes back") {
  auto reader = TraceReader::from_bytes(TraceBuilder().bytes(), "test");
  REQUIRE(reader);
  CHECK(reader.value().header().start_realtime_ns == TraceBuilder::kStartRealtimeNs);
  CHECK(reader.value().header().process_id == TraceBuilder::kProcessId);
  CHECK(reader.value().header().major == kFormatMajor);
  RecordView view;
  CHECK_FALSE(reader.value().next(view));
  CHECK(reader.value().damage().none());
}

TEST_CASE("a record tells which chunk it came from") {
  TraceBuilder trace;
  trace.add(Clock{1, 1}).add(Clock{2, 2}).end_chunk().add(Clock{3, 3});
  auto reader = TraceReader::from_bytes(trace.bytes(), "test");
  REQUIRE(reader);
  std::vector<std::uint64_t> sequences;
  RecordView view;
  while (reader.value().next(view)) sequences.push_back(reader.value().chunk_sequence());
  CHECK(sequences == std::vector<std::uint64_t>{0, 0, 1});
}

TEST_CASE("a visitor sees the kinds that it takes, and no others") {
  TraceBuilder trace;
  trace.add(Clock{1, 1}).add(Fact{"a", "b"}).add(Loss{3, "ring-full", 2});
  auto reader = TraceReader::from_bytes(trace.bytes(), "test");
  REQUIRE(reader);
  struct Visitor {
    std::size_t facts = 0;
    std::uint64_t lost = 0;
    void operator()(const Fact& fact) { facts += fact.key == "a" && fact.value == "b" ? 1 : 100; }
    void operator()(const Loss& loss) { lost += loss.count; }
  } visitor;
  RecordView view;
  std::vector<bool> visited;
  while (reader.value().next(view)) visited.push_back(visit(view, visitor));
  CHECK(visited == std::vector<bool>{false, true, true});
  CHECK(visitor.facts == 1);
  CHECK(visitor.lost == 2);
}

TEST_CASE("a file is read as its bytes are, whatever its length") {
  const TemporaryFolder folder;
  TraceBuilder trace(ChunkWriter::kMinBufferBytes);
  trace.schemas();
  std::mt19937_64 random(7);
  for (int i = 0; i < 60'000; ++i) trace.add(random_record<Kernel>(random, ""));  // several read-ahead windows
  const Bytes bytes = trace.bytes();
  REQUIRE(bytes.size() > (2U << 20));
  const std::string path = folder.write("long.synctrace", bytes);
  const Loaded from_file = load(TraceReader::open(path));
  CHECK(from_file.error.empty());
  CHECK(from_file.damage.none());
  CHECK(from_file.text == load(bytes).text);
}

TEST_CASE("what is not a trace is refused with its name") {
  const TemporaryFolder folder;
  const auto why = [](const std::string& path) { return load(TraceReader::open(path)).error; };
  const auto refused = [&](const std::string& path, const std::string& reason) {
    return why(path).find(path) == 0 && why(path).find(reason) != std::string::npos;
  };
  CHECK(refused(folder.path("missing.synctrace"), "No such file"));
  CHECK(refused(folder.path(""), "folder"));
  CHECK(refused(folder.write("empty.synctrace", {}), "empty"));
  CHECK(refused(folder.write("short.synctrace", bytes_of("SYNCTRC\n")), "cut off"));
  CHECK(refused(folder.write("text.synctrace", bytes_of(std::string(100, 'x'))), "not a synctrace trace"));

  // Nobody writes to the FIFO: waiting for it would hang here.
  const std::string fifo = folder.path("fifo.synctrace");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(refused(fifo, "not a regular file"));
}

TEST_CASE("another major version is refused, and says which") {
  FileHeader header = make_file_header(1, 2);
  header.major = kFormatMajor + 1;
  header.crc = crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(FileHeader, crc)));
  Bytes bytes;
  append(bytes, std::as_bytes(std::span(&header, 1)));
  const std::string error = load(bytes).error;
  CHECK(error.find("format 2") != std::string::npos);
  CHECK(error.find("format 1") != std::string::npos);
}

TEST_CASE("a longer file header of a later minor version is passed over") {
  FileHeader header = make_file_header(1, 2);
  header.minor = kFormatMinor + 1;
  header.header_bytes = 48;
  header.crc = crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(FileHeader, crc)));
  Bytes bytes;
  append(bytes, std::as_bytes(std::span(&header, 1)));
  append(bytes, Bytes(16, std::byte{0xee}));
  const Bytes plain = TraceBuilder().add(Clock{5, 6}).bytes();
  append(bytes, std::span(plain).subspan(sizeof(FileHeader)));
  const Loaded loaded = load(bytes);
  CHECK(loaded.damage.none());
  CHECK(loaded.records == std::vector<std::string>{"clock monotonic_ns=5 realtime_ns=6"});
}
