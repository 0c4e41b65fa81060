// SPDX-License-Identifier: Apache-2.0
// The two ways to read records, one by one in any layout and all of them as structs, see the same in any trace: intact,
// with its schemas, without them, of another version, and with any byte of a record changed behind a valid checksum.
#include <string>
#include <vector>

#include "format/record_decoder.h"
#include "support/catch.h"
#include "support/trace_builder.h"

using namespace synctrace;
using namespace synctrace::format;
using namespace synctrace::testing;

namespace {

struct Seen {
  std::vector<std::string> records;
  std::vector<std::uint64_t> damage;
  friend bool operator==(const Seen&, const Seen&) = default;
};

// Every field of a record in words; some kinds are not asked for.
struct Listener {
  std::vector<std::string>& records;

  template <class Record>
  void operator()(const Record& record) {
    std::string words(Record::kName);
    Record::with_fields([&](const auto&... field) { ((words += ' ' + word(record.*field.member)), ...); });
    records.push_back(std::move(words));
  }
  void operator()(const Stream&) = delete;

  static std::string word(std::string_view text) { return std::string(text); }
  template <class Number>
  static std::string word(Number number) {
    return std::to_string(to_wire(number));
  }
};

std::vector<std::uint64_t> numbers_of(const Damage& damage) {
  return {damage.skipped_bytes, damage.bad_chunks,      damage.missing_chunks,
          damage.bad_records,   damage.unknown_records, damage.truncated ? 1U : 0U};
}

TraceReader opened(const Bytes& bytes) { return std::move(TraceReader::from_bytes(bytes, "test")).value(); }

void check_same(const Bytes& bytes) {
  Seen one_by_one;
  Seen all_at_once;
  Listener first{one_by_one.records};
  TraceReader slow = opened(bytes);
  RecordView record;
  while (slow.next(record)) visit(record, first);
  one_by_one.damage = numbers_of(slow.damage());
  Listener second{all_at_once.records};
  TraceReader fast = opened(bytes);
  visit_records(fast, second);
  all_at_once.damage = numbers_of(fast.damage());
  REQUIRE(one_by_one == all_at_once);
}

Bytes payload_of(TraceBuilder& trace) {
  const Bytes& bytes = trace.bytes();
  return {bytes.begin() + sizeof(FileHeader) + sizeof(ChunkHeader), bytes.end()};
}

Bytes some_records() {
  TraceBuilder trace;
  trace.add(Fact{"rank", "0"}).add(ApiName{ApiId{7}, ApiCategory::kCopy, "cudaMemcpy"});
  for (int i = 0; i < 3; ++i) {
    trace.add(Kernel{
        1'000'000'000 + i * 100'000, 2'500, {}, ContextId{1}, StreamId{7}, CorrelationId(300 + i), {}, {}, {}, 0});
    trace.add(Launch{ThreadId{4'000'000'000}, 999'000'000, 1U << i, ApiId{7}, CorrelationId{5}, 0, StackId{1}});
    trace.add(Stream{ContextId{1}, StreamId{7}, 0, -5}).add(Loss{1'000'050'000, "ring-full", 3});
  }
  return payload_of(trace);
}

Bytes trace_of(std::initializer_list<Bytes> payloads) {
  Bytes bytes = file_header_bytes();
  std::uint64_t sequence = 0;
  for (const Bytes& payload : payloads) append(bytes, chunk_of(payload, sequence++));
  return bytes;
}

Bytes schemas() {
  TraceBuilder trace;
  trace.schemas();
  return payload_of(trace);
}

}  // namespace

TEST_CASE("both ways of reading see the same with every byte changed to every other") {
  const Bytes plain = some_records();
  for (const bool declared : {false, true}) {
    const Bytes before = declared ? schemas() : Bytes{};
    for (std::size_t at = 0; at < plain.size(); ++at) {
      CAPTURE(declared, at);
      for (int value = 0; value < 256; value += declared ? 17 : 1) {
        Bytes changed = plain;
        changed[at] = static_cast<std::byte>(value);
        check_same(trace_of({before, changed, plain}));
      }
    }
  }
}

TEST_CASE("both ways of reading see the same in layouts of other versions") {
  TraceBuilder other;
  other.add(Schema{number(RecordKind::kKernel), "kernel", "begin_ns:d duration_ns:u device:u"});
  other.add(Schema{number(RecordKind::kLoss), "loss", "time_ns:d name:t count:u more:u"});
  other.add(Schema{60, "novelty", "when:d"});
  const Bytes novelty = {std::byte{60}, std::byte{1}, std::byte{2}};
  check_same(trace_of({payload_of(other), novelty, some_records()}));
  check_same(trace_of({some_records(), schemas(), some_records(), payload_of(other), some_records()}));
}

TEST_CASE("both ways of reading see the same in a payload cut at every byte") {
  const Bytes plain = some_records();
  for (std::size_t count = 0; count <= plain.size(); ++count) {
    CAPTURE(count);
    check_same(trace_of({{plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(count)}, plain}));
  }
}
