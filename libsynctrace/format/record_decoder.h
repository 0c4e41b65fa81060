// SPDX-License-Identifier: Apache-2.0
// The payload of one chunk -> records, one by one in any layout (next), or all of them as structs (visit_all), which is
// several times as fast where the trace's layout is the one that this version writes. Allocates only when a schema
// record is met. Single-threaded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "format/byte_cursor.h"
#include "format/schema_table.h"
#include "format/trace_reader.h"

namespace synctrace::format {

class RecordDecoder {
 public:
  // Starts on the payload of a chunk, which must stay until the next call.
  void begin_chunk(std::span<const std::byte> payload) noexcept;

  // What the trace has declared so far. Chunks that are read out of order need those of the chunks before them.
  const SchemaTable& schemas() const noexcept { return schemas_; }
  void set_schemas(const SchemaTable& schemas) { schemas_ = schemas; }

  // Moves to the next readable record of the chunk; false at its end. Counts what it passes over.
  [[nodiscard]] bool next(RecordView& record, Damage& damage);

  // Calls visitor(const Kind&) for the rest of the chunk's records, as visit() does for each that next() gives.
  template <class Visitor>
  void visit_all(Visitor& visitor, Damage& damage);

 private:
  struct Body {
    const SchemaTable::Entry* kind = nullptr;
    ByteCursor cursor{};
  };
  bool next_body(Body& body, Damage& damage);
  bool decode(Body& body, RecordView& record) noexcept;
  bool fits(const Body& body) const noexcept {
    return !body.cursor.failed && (body.cursor.at == body.cursor.end || !body.kind->declared);
  }
  void give_up(Damage& damage) noexcept;
  void learn_declared(Damage& damage);

  template <class Record, class Visitor>
  static bool decode_plain(RecordDecoder& decoder, Body& body, Visitor& visitor);
  template <class Member>
  static void take(const SchemaTable::Entry& kind, ByteCursor& cursor, Encoding encoding, std::uint64_t& previous,
                   Member& member) noexcept;

  std::span<const std::byte> rest_;
  SchemaTable schemas_;
  std::optional<Schema> declared_;  // by the last record: learnt when the caller is done with the record's old layout
  std::array<std::array<std::uint64_t, kMaxFields>, kMaxKinds> previous_{};  // last values, in this chunk
};

template <class Member>
[[gnu::always_inline]] inline void RecordDecoder::take(const SchemaTable::Entry& kind, ByteCursor& cursor,
                                                       Encoding encoding, std::uint64_t& previous,
                                                       Member& member) noexcept {
  if (cursor.at == cursor.end && !kind.declared) {
    member = Member{};
    return;
  }
  if constexpr (std::is_same_v<Member, std::string_view>) {
    member = cursor.text();
  } else {
    std::uint64_t value = cursor.varint();
    if (encoding != Encoding::kUnsigned) value = unzigzag(value);
    if (encoding == Encoding::kDelta) value = previous += value;
    member = static_cast<Member>(value);
  }
}

// A record whose layout in the file is that of its struct.
template <class Record, class Visitor>
bool RecordDecoder::decode_plain(RecordDecoder& decoder, Body& body, Visitor& visitor) {
  Record record;
  auto& previous = decoder.previous_[static_cast<std::size_t>(Record::kKind)];
  Record::with_fields([&](const auto&... field) __attribute__((always_inline)) {
    ByteCursor cursor = body.cursor;
    std::size_t index = 0;
    (take(*body.kind, cursor, field.encoding, previous[index++], record.*field.member), ...);
    body.cursor = cursor;
  });
  if (!decoder.fits(body)) return false;
  if constexpr (std::is_same_v<Record, Schema>) decoder.declared_ = record;
  if constexpr (std::is_invocable_v<Visitor&, const Record&>) visitor(record);
  return true;
}

template <class Visitor>
void RecordDecoder::visit_all(Visitor& visitor, Damage& damage) {
  using Decode = bool (*)(RecordDecoder&, Body&, Visitor&);
  static constexpr auto kDecoders = []<class... Record>(const std::tuple<Record...>*) {
    std::array<Decode, kMaxKinds> decoders{};
    ((decoders[static_cast<std::size_t>(Record::kKind)] = &decode_plain<Record, Visitor>), ...);
    return decoders;
  }(static_cast<const AllRecords*>(nullptr));
  Body body;
  while (next_body(body, damage)) {
    if (body.kind->plain) {
      if (!kDecoders[body.kind->layout.kind](*this, body, visitor)) give_up(damage);
      continue;
    }
    RecordView record;
    if (decode(body, record)) {
      if (!body.kind->known) ++damage.unknown_records;
      visit(record, visitor);
    } else {
      give_up(damage);
    }
  }
}

// All records of a trace: the same calls, in the same order, as by next() and visit().
template <class Visitor>
void visit_records(TraceReader& reader, Visitor& visitor) {
  while (RecordDecoder* chunk = reader.next_chunk()) chunk->visit_all(visitor, reader.damage_of_chunks());
}

}  // namespace synctrace::format
