// SPDX-License-Identifier: Apache-2.0
#include "format/record_decoder.h"

#include <algorithm>
#include <utility>

#include "format/trace_writer.h"

namespace synctrace::format {
namespace {

constexpr std::size_t kMaxNameBytes = 64;  // of a kind or a field

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
      if (shift == 63 && byte > 1) break;  // the 65th bit
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

bool is_name(std::string_view name) noexcept {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_inner = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= kMaxNameBytes && is_letter(name[0]) && std::all_of(name.begin(), name.end(), is_inner);
}

std::optional<Encoding> encoding_of(std::string_view letter) noexcept {
  if (letter.size() != 1) return std::nullopt;
  const auto encoding = static_cast<Encoding>(letter[0]);
  switch (encoding) {
    case Encoding::kUnsigned:
    case Encoding::kSigned:
    case Encoding::kDelta:
    case Encoding::kText:
      return encoding;
  }
  return std::nullopt;
}

// Takes "name:e" off the front of a field list.
std::optional<FieldLayout> take_field(std::string_view& list) {
  const std::string_view item = list.substr(0, list.find(' '));
  list.remove_prefix(std::min(list.size(), item.size() + 1));
  const std::size_t colon = item.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto encoding = encoding_of(item.substr(colon + 1));
  if (!encoding || !is_name(item.substr(0, colon))) return std::nullopt;
  return FieldLayout{std::string(item.substr(0, colon)), *encoding};
}

bool same_field(const FieldLayout& a, const FieldLayout& b) { return a.name == b.name && a.encoding == b.encoding; }

bool same_fields(const KindLayout& a, const KindLayout& b) {
  return std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(), same_field);
}

}  // namespace

RecordDecoder::RecordDecoder() {
  for_each_schema([this](const Schema& schema) {
    std::optional<Kind> kind = parse(schema);
    kind->known = true;
    built_in_[schema.kind] = kind->layout;
    find_known_fields(*kind);
    kinds_[schema.kind] = std::move(kind);
  });
}

void RecordDecoder::begin_chunk(std::span<const std::byte> payload) noexcept {
  rest_ = payload;
  for (auto& kind : kinds_) {
    if (kind) kind->previous = {};
  }
}

bool RecordDecoder::next(RecordView& record, Damage& damage) {
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
    rest_ = rest_.subspan(static_cast<std::size_t>(body.data() + body.size() - rest_.data()));
    std::optional<Kind>& kind = kinds_[number];
    if (!kind) {
      ++damage.bad_records;
      continue;
    }
    if (!decode(*kind, body, record)) {
      ++damage.bad_records;
      rest_ = {};  // the delta fields of what follows would be wrong
      return false;
    }
    if (!kind->known) ++damage.unknown_records;
    if (number == static_cast<std::uint64_t>(RecordKind::kSchema) && !learn(record.as<Schema>())) {
      ++damage.bad_records;
      continue;
    }
    return true;
  }
  return false;
}

bool RecordDecoder::decode(Kind& kind, std::span<const std::byte> body, RecordView& record) noexcept {
  Cursor cursor{body.data(), body.data() + body.size()};
  record.layout_ = &kind.layout;
  const std::size_t count = kind.layout.fields.size();
  for (std::size_t i = 0; i < count; ++i) {
    RecordView::Value value;
    if (cursor.at == cursor.end && !kind.declared) {
      record.values_[i] = value;
      continue;
    }
    switch (kind.encodings[i]) {
      case Encoding::kUnsigned:
        value.number = cursor.varint();
        break;
      case Encoding::kSigned:
        value.number = unzigzag(cursor.varint());
        break;
      case Encoding::kDelta:
        value.number = kind.previous[i] += unzigzag(cursor.varint());
        break;
      case Encoding::kText:
        value.text = cursor.text();
        break;
    }
    record.values_[i] = value;
  }
  return !cursor.failed && (cursor.at == cursor.end || !kind.declared);
}

std::optional<RecordDecoder::Kind> RecordDecoder::parse(const Schema& schema) {
  if (schema.kind == 0 || schema.kind >= kMaxKinds || !is_name(schema.name)) return std::nullopt;
  Kind kind;
  kind.layout.kind = schema.kind;
  kind.layout.name = schema.name;
  std::vector<FieldLayout>& fields = kind.layout.fields;
  std::string_view list = schema.field_list;
  while (!list.empty()) {
    std::optional<FieldLayout> field = take_field(list);
    const auto has_its_name = [&](const FieldLayout& other) { return other.name == field->name; };
    if (!field || fields.size() == kMaxFields || std::any_of(fields.begin(), fields.end(), has_its_name)) return std::nullopt;
    kind.encodings[fields.size()] = field->encoding;
    fields.push_back(*std::move(field));
  }
  return kind;
}

// Takes over a schema that the file declares. False when it is malformed or contradicts what is known of its kind.
bool RecordDecoder::learn(const Schema& schema) {
  std::optional<Kind> kind = parse(schema);
  if (!kind) return false;
  std::optional<Kind>& place = kinds_[schema.kind];
  if (place && place->layout.name != schema.name) return false;
  if (place && place->declared) return same_fields(place->layout, kind->layout);
  if (schema.kind == static_cast<std::uint32_t>(RecordKind::kSchema)) {
    const auto& needed = built_in_[schema.kind]->fields;
    const auto& fields = kind->layout.fields;
    if (fields.size() < needed.size() || !std::equal(needed.begin(), needed.end(), fields.begin(), same_field)) return false;
  }
  kind->declared = true;
  kind->known = built_in_[schema.kind].has_value();
  if (kind->known) find_known_fields(*kind);
  if (place) kind->previous = place->previous;
  place = std::move(kind);
  return true;
}

void RecordDecoder::find_known_fields(Kind& kind) const {
  const auto& fields = kind.layout.fields;
  for (const FieldLayout& known : built_in_[kind.layout.kind]->fields) {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const FieldLayout& f) { return f.name == known.name; });
    kind.layout.known_fields.push_back(found == fields.end() ? -1 : static_cast<int>(found - fields.begin()));
  }
}

}  // namespace synctrace::format
