// SPDX-License-Identifier: Apache-2.0
#include "format/record_decoder.h"

namespace synctrace::format {

void RecordDecoder::begin_chunk(std::span<const std::byte> payload) noexcept {
  rest_ = payload;
  previous_ = {};
}

void RecordDecoder::learn_declared(Damage& damage) {
  if (!schemas_.learn(*declared_)) ++damage.bad_records;
  declared_.reset();
}

// The delta fields of what follows could be wrong.
void RecordDecoder::give_up(Damage& damage) noexcept {
  ++damage.bad_records;
  rest_ = {};
}

// Moves to the next record that has a layout.
bool RecordDecoder::next_body(Body& body, Damage& damage) {
  if (declared_) learn_declared(damage);
  while (!rest_.empty()) {
    const std::byte* end = rest_.data() + rest_.size();
    ByteCursor cursor{rest_.data(), end, end};
    const std::uint64_t number = cursor.varint();
    const std::uint64_t length = cursor.varint();
    if (cursor.failed || number >= kMaxKinds || length > kMaxRecordBytes || length > cursor.left()) {
      give_up(damage);
      return false;
    }
    const std::byte* body_end = cursor.at + length;
    rest_ = std::span(body_end, end);
    body.kind = schemas_.find(number);
    if (body.kind == nullptr) {
      ++damage.bad_records;
      continue;
    }
    body.cursor = {cursor.at, body_end, end};
    return true;
  }
  return false;
}

bool RecordDecoder::next(RecordView& record, Damage& damage) {
  Body body;
  if (!next_body(body, damage)) return false;
  if (!decode(body, record)) {
    give_up(damage);
    return false;
  }
  if (!body.kind->known) ++damage.unknown_records;
  return true;
}

bool RecordDecoder::decode(Body& body, RecordView& record) noexcept {
  const SchemaTable::Entry& kind = *body.kind;
  ByteCursor& cursor = body.cursor;
  auto& previous = previous_[kind.layout.kind];
  const std::size_t count = kind.layout.fields.size();
  record.layout_ = &kind.layout;
  for (std::size_t i = 0; i < count; ++i) {
    RecordView::Value& value = record.values_[i];
    value = {};
    if (cursor.at == cursor.end && !kind.declared) continue;
    switch (kind.encodings[i]) {
      case Encoding::kUnsigned: value.number = cursor.varint(); break;
      case Encoding::kSigned: value.number = unzigzag(cursor.varint()); break;
      case Encoding::kDelta: value.number = previous[i] += unzigzag(cursor.varint()); break;
      case Encoding::kText: value.text = cursor.text(); break;
    }
  }
  if (!fits(body)) return false;
  if (kind.layout.kind == static_cast<std::uint32_t>(RecordKind::kSchema)) declared_ = record.as<Schema>();
  return true;
}

}  // namespace synctrace::format
