// SPDX-License-Identifier: Apache-2.0
// What a reader makes of schemas: of other versions, lost ones and hostile ones.
#include "support/catch.h"
#include "support/trace_builder.h"

using namespace synctrace;
using namespace synctrace::format;
using namespace synctrace::testing;

namespace {

constexpr std::uint32_t kKernel = number(RecordKind::kKernel);

// A record by hand: kind, length, body; all below 128.
Bytes record(std::uint32_t kind, const Bytes& body) {
  Bytes bytes = {static_cast<std::byte>(kind), static_cast<std::byte>(body.size())};
  append(bytes, body);
  return bytes;
}

Bytes numbers(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// A trace of one chunk that begins with these schemas and goes on with these bytes.
Bytes trace_of(const std::vector<Schema>& schemas, const Bytes& rest) {
  Bytes payload;
  for (const Schema& schema : schemas) {
    const Bytes one = TraceBuilder().add(schema).bytes();
    append(payload, std::span(one).subspan(sizeof(FileHeader) + sizeof(ChunkHeader)));
  }
  append(payload, rest);
  Bytes bytes = file_header_bytes();
  append(bytes, chunk_of(payload, 0));
  return bytes;
}

// Bad records counted for a single schema; the record behind it must be read all the same.
std::uint64_t bad_records(std::uint32_t kind, std::string_view name, std::string_view fields) {
  const Loaded loaded = load(trace_of({{kind, name, fields}}, record(number(RecordKind::kClock), numbers({2, 4}))));
  CHECK(loaded.records.back() == "clock monotonic_ns=1 realtime_ns=2");
  return loaded.damage.bad_records;
}

}  // namespace

TEST_CASE("a field added at the end by a later version is passed over by the struct") {
  const Bytes body = numbers({6, 7, 5});
  const Bytes bytes = trace_of({{number(RecordKind::kClock), "clock", "monotonic_ns:d realtime_ns:d new:u"}},
                               record(number(RecordKind::kClock), body));
  auto reader = TraceReader::from_bytes(bytes, "test");
  REQUIRE(reader);
  RecordView view;
  REQUIRE(reader.value().next(view));
  REQUIRE(reader.value().next(view));
  CHECK(view.values().size() == 3);
  CHECK(view.values()[2].number == 5);
  CHECK(view.as<Clock>().monotonic_ns == 3);
  CHECK(view.as<Clock>().realtime_ns == -4);
  CHECK_FALSE(reader.value().next(view));
  CHECK(reader.value().damage().none());
}

TEST_CASE("a field that an earlier version lacked keeps its default") {
  const Bytes bytes = trace_of({{kKernel, "kernel", "begin_ns:d duration_ns:u"}}, record(kKernel, numbers({20, 30})));
  auto reader = TraceReader::from_bytes(bytes, "test");
  REQUIRE(reader);
  RecordView view;
  REQUIRE(reader.value().next(view));
  REQUIRE(reader.value().next(view));
  const auto kernel = view.as<Kernel>();
  CHECK(kernel.begin_ns == 10);
  CHECK(kernel.duration_ns == 30);
  CHECK(kernel.name == StringId{});
  CHECK(kernel.graph_node == 0);
}

TEST_CASE("fields are found by name, and a number too large for its field is cut") {
  const Bytes bytes = trace_of({{kKernel, "kernel", "name:u begin_ns:s text:t"}},
                               record(kKernel, numbers({0xff, 0xff, 0xff, 0xff, 0x7f, 3, 1, 'x'})));
  auto reader = TraceReader::from_bytes(bytes, "test");
  REQUIRE(reader);
  RecordView view;
  REQUIRE(reader.value().next(view));
  REQUIRE(reader.value().next(view));
  CHECK(view.as<Kernel>().begin_ns == -2);
  CHECK(view.as<Kernel>().name == StringId{0xffffffff});
}

TEST_CASE("an unknown kind is readable, counted and no damage") {
  Bytes rest = record(60, numbers({2, 1, 'a'}));
  append(rest, record(60, numbers({4, 1, 'b'})));
  const Loaded loaded = load(trace_of({{60, "novelty", "at_ns:d what:t"}}, rest));
  REQUIRE(loaded.records.size() == 3);
  CHECK(loaded.records[1] == "novelty at_ns=1 what=\"a\"");
  CHECK(loaded.records[2] == "novelty at_ns=3 what=\"b\"");
  CHECK(loaded.damage.unknown_records == 2);
  CHECK(loaded.damage.none());
}

TEST_CASE("a kind without any schema is skipped and counted") {
  Bytes rest = record(60, numbers({2, 1, 'a'}));
  append(rest, record(number(RecordKind::kClock), numbers({2, 4})));
  const Loaded loaded = load(trace_of({}, rest));
  CHECK(loaded.records == std::vector<std::string>{"clock monotonic_ns=1 realtime_ns=2"});
  CHECK(loaded.damage.bad_records == 1);
}

TEST_CASE("without schema records the built-in layouts serve, with fields more or fewer") {
  Bytes rest = record(number(RecordKind::kClock), numbers({2}));            // a version with one field
  append(rest, record(number(RecordKind::kClock), numbers({2, 4, 9, 9})));  // a version with four
  const Loaded loaded = load(trace_of({}, rest));
  CHECK(loaded.records ==
        std::vector<std::string>{"clock monotonic_ns=1 realtime_ns=0", "clock monotonic_ns=2 realtime_ns=2"});
  CHECK(loaded.damage.none());
}

TEST_CASE("a record that does not fit its declared schema ends its chunk") {
  const std::vector<Schema> schemas = {{number(RecordKind::kClock), "clock", "monotonic_ns:d realtime_ns:d"}};
  const Bytes good = record(number(RecordKind::kClock), numbers({2, 4}));
  const auto check = [&](const Bytes& bad) {
    Bytes rest = good;
    append(rest, bad);
    append(rest, good);
    const Loaded loaded = load(trace_of(schemas, rest));
    CHECK(loaded.records.size() == 2);
    CHECK(loaded.damage.bad_records == 1);
    CHECK_FALSE(loaded.damage.none());
  };
  check(record(number(RecordKind::kClock), numbers({2})));        // too short
  check(record(number(RecordKind::kClock), numbers({2, 4, 6})));  // too long
  check(record(number(RecordKind::kClock), numbers({2, 0x80})));  // a varint without an end
  check(record(number(RecordKind::kClock),                        // a varint of more than 64 bits
               numbers({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 4})));
  check(record(64, {}));      // no kind has this number
  check(numbers({3, 0x7f}));  // longer than its chunk
  check(numbers({3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}));
  check(record(number(RecordKind::kString), numbers({1, 0xff, 0xff, 0x7f})));  // a text longer than its record
}

TEST_CASE("the largest varint is read whole") {
  const Bytes body = numbers({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01});
  const Loaded loaded = load(trace_of({{60, "novelty", "n:u"}}, record(60, body)));
  CHECK(loaded.records.back() == "novelty n=18446744073709551615");
}

TEST_CASE("malformed schemas are counted and change nothing") {
  CHECK(bad_records(60, "novelty", "a:u") == 0);
  CHECK(bad_records(60, "novelty", "") == 0);
  CHECK(bad_records(0, "novelty", "a:u") == 1);
  CHECK(bad_records(64, "novelty", "a:u") == 1);
  CHECK(bad_records(0xffffffff, "novelty", "a:u") == 1);
  CHECK(bad_records(60, "", "a:u") == 1);
  CHECK(bad_records(60, "Novelty", "a:u") == 1);
  CHECK(bad_records(60, std::string(65, 'x'), "a:u") == 1);
  CHECK(bad_records(60, "novelty", "a") == 1);
  CHECK(bad_records(60, "novelty", "a:") == 1);
  CHECK(bad_records(60, "novelty", "a:x") == 1);
  CHECK(bad_records(60, "novelty", "a:uu") == 1);
  CHECK(bad_records(60, "novelty", ":u") == 1);
  CHECK(bad_records(60, "novelty", " a:u") == 1);
  CHECK(bad_records(60, "novelty", "a:u ") == 1);
  CHECK(bad_records(60, "novelty", "a:u  b:u") == 1);
  CHECK(bad_records(60, "novelty", "a:u a:t") == 1);
  CHECK(bad_records(60, "novelty", std::string(65, 'x') + ":u") == 1);
  CHECK(bad_records(60, "novelty", std::string_view("a\0:u", 4)) == 1);
  CHECK(bad_records(60, "kernel", "a:u") == 1);        // another kind's name
  CHECK(bad_records(kKernel, "novelty", "a:u") == 1);  // another name for a known kind
  CHECK(bad_records(1, "schema", "kind:u") == 1);      // schema records could not be read with it
}

TEST_CASE("a schema has at most kMaxFields fields") {
  std::string fields;
  for (std::uint32_t i = 0; i < kMaxFields; ++i) fields += (i == 0 ? "f" : " f") + std::to_string(i) + ":u";
  CHECK(bad_records(60, "novelty", fields) == 0);
  CHECK(bad_records(60, "novelty", fields + " more:u") == 1);
}

TEST_CASE("the first declaration of a kind stands") {
  const std::vector<Schema> schemas = {
      {60, "novelty", "a:u"}, {60, "novelty", "a:u"}, {60, "novelty", "a:u b:u"}, {60, "other", "a:u"}};
  const Loaded loaded = load(trace_of(schemas, record(60, numbers({5}))));
  CHECK(loaded.records.back() == "novelty a=5");
  CHECK(loaded.damage.bad_records == 2);
}

TEST_CASE("the layout of schema records themselves may grow") {
  const std::string fields = "kind:u name:t field_list:t doc:t";
  Bytes rest = record(1, numbers({60, 1, 'n', 3, 'a', ':', 'u', 2, 'h', 'i'}));
  append(rest, record(60, numbers({7})));
  const Loaded loaded = load(trace_of({{1, "schema", fields}}, rest));
  CHECK(loaded.damage.none());
  REQUIRE(loaded.records.size() == 3);
  CHECK(loaded.records[1] == R"(schema kind=60 name="n" field_list="a:u" doc="hi")");
  CHECK(loaded.records[2] == "n a=7");
}
