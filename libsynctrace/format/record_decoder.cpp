// SPDX-License-Identifier: Apache-2.0
#include "format/record_decoder.h"

namespace synctrace::format {
namespace {

// Reads from the front of a body; `failed` once something did not fit.
struct Cursor {
  const std::byte* at;
  const std::byte* end;
  bool failed = false;

  std::size_t left() const noexcept { return static_cast<std::size_t>(end - at); }

  std::uint64_t varint() noexcept {
    if (at != end && static_cast<std::uint8_t>(*at) < 0x80) return static_cast<std::uint8_t>(*at++);
    return long_varint();
  }

  std::uint64_t long_varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at != end && shift < 7 * kMaxVarintBytes; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(*at++);
      if (shift == 63 && byte > 1) break;  // a 65th bit
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    failed = true;
    return 0;
  }

  std::string_view text() noexcept {
    const std::uint64_t length = varint();
    if (length > kMaxTextBytes || length > left()) {
      failed = true;
      return {};
    }
    const auto* begin = reinterpret_cast<const char*>(at);
    at += length;
    return {begin, static_cast<std::size_t>(length)};
  }
};

constexpr std::uint64_t unzigzag(std::uint64_t value) noexcept { return (value >> 1) ^ (~(value & 1U) + 1U); }

}  // namespace

void RecordDecoder::begin_chunk(std::span<const std::byte> payload) noexcept {
  rest_ = payload;
  previous_ = {};
}

bool RecordDecoder::next(RecordView& record, Damage& damage) {
  if (declared_ && !schemas_.learn(*declared_)) ++damage.bad_records;
  declared_.reset();
  while (!rest_.empty()) {
    Cursor cursor{rest_.data(), rest_.data() + rest_.size()};
    const std::uint64_t number = cursor.varint();
    const std::uint64_t length = cursor.varint();
    if (cursor.failed || number >= kMaxKinds || length > kMaxRecordBytes || length > cursor.left()) {
      ++damage.bad_records;
      rest_ = {};
      return false;
    }
    const std::span body(cursor.at, static_cast<std::size_t>(length));
    rest_ = std::span(cursor.at + length, cursor.end);
    const SchemaTable::Entry* kind = schemas_.find(number);
    if (kind == nullptr) {
      ++damage.bad_records;
      continue;
    }
    if (!decode(*kind, body, record)) {
      ++damage.bad_records;
      rest_ = {};  // the delta fields of what follows could be wrong
      return false;
    }
    if (!kind->known) ++damage.unknown_records;
    if (number == static_cast<std::uint64_t>(RecordKind::kSchema)) declared_ = record.as<Schema>();
    return true;
  }
  return false;
}

bool RecordDecoder::decode(const SchemaTable::Entry& kind, std::span<const std::byte> body,
                           RecordView& record) noexcept {
  Cursor cursor{body.data(), body.data() + body.size()};
  auto& previous = previous_[kind.layout.kind];
  const std::size_t count = kind.layout.fields.size();
  record.layout_ = &kind.layout;
  for (std::size_t i = 0; i < count; ++i) {
    RecordView::Value& value = record.values_[i];
    value = {};
    if (cursor.at == cursor.end && !kind.declared) continue;
    switch (kind.encodings[i]) {
      case Encoding::kUnsigned:
        value.number = cursor.varint();
        break;
      case Encoding::kSigned:
        value.number = unzigzag(cursor.varint());
        break;
      case Encoding::kDelta:
        value.number = previous[i] += unzigzag(cursor.varint());
        break;
      case Encoding::kText:
        value.text = cursor.text();
        break;
    }
  }
  return !cursor.failed && (cursor.at == cursor.end || !kind.declared);
}

}  // namespace synctrace::format
