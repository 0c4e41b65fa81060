// SPDX-License-Identifier: Apache-2.0
#include "format/trace_text.h"

#include <array>
#include <charconv>
#include <cstdint>

#include "base/utf8.h"

namespace synctrace::format {
namespace {

constexpr std::size_t kFlushBytes = 64U << 10;

// Characters that a terminal or a reviewer would not see as they are: controls, invisible and direction-changing ones.
constexpr bool is_seen(std::uint32_t code) noexcept {
  return !is_control(code) && !is_deceptive(code) && code != 0xad && !(code >= 0x200b && code <= 0x200d) &&
         !(code >= 0x2060 && code <= 0x206f) && !(code >= 0xfff0 && code <= 0xffff) &&
         !(code >= 0xe0000 && code <= 0xe0fff);
}

// Bytes of the character that `text` begins with when it can stand as it is, or 0 when its first byte has to be
// escaped.
std::size_t plain_bytes(std::string_view text) noexcept {
  const Utf8Character character = first_character(text);
  return is_seen(character.code) && character.code != '"' && character.code != '\\' ? character.bytes : 0;
}

void put_escaped(std::string& out, char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<std::uint8_t>(c);
  out += '\\';
  switch (c) {
    case '"':
    case '\\': out += c; break;
    case '\n': out += 'n'; break;
    case '\t': out += 't'; break;
    case '\r': out += 'r'; break;
    default:
      out += 'x';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 0xfU];
  }
}

void put_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t plain = plain_bytes(text);
    if (plain == 0) {
      put_escaped(out, text[0]);
    } else {
      out += text.substr(0, plain);
    }
    text.remove_prefix(plain == 0 ? 1 : plain);
  }
  out += '"';
}

template <class Number>
void put_number(std::string& out, Number number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

template <class Number>
void put_pair(std::string& out, std::string_view name, Number number) {
  out += ' ';
  out += name;
  out += '=';
  put_number(out, number);
}

void put_record(std::string& out, const RecordView& record) {
  out += record.layout().name;
  for (std::size_t i = 0; i < record.values().size(); ++i) {
    const FieldLayout& field = record.layout().fields[i];
    const RecordView::Value& value = record.values()[i];
    switch (field.encoding) {
      case Encoding::kText:
        out += ' ';
        out += field.name;
        out += '=';
        put_text(out, value.text);
        break;
      case Encoding::kUnsigned: put_pair(out, field.name, value.number); break;
      case Encoding::kSigned:
      case Encoding::kDelta: put_pair(out, field.name, static_cast<std::int64_t>(value.number)); break;
    }
  }
  out += '\n';
}

void put_header(std::string& out, const FileHeader& header) {
  out += "synctrace-text 1";
  put_pair(out, "start_realtime_ns", header.start_realtime_ns);
  put_pair(out, "process_id", header.process_id);
  put_pair(out, "format_minor", header.minor);
  out += '\n';
}

void put_damage(std::string& out, const Damage& damage) {
  out += "# damaged:";
  put_pair(out, "skipped_bytes", damage.skipped_bytes);
  put_pair(out, "bad_chunks", damage.bad_chunks);
  put_pair(out, "missing_chunks", damage.missing_chunks);
  put_pair(out, "bad_records", damage.bad_records);
  put_pair(out, "truncated", damage.truncated ? 1 : 0);
  out += '\n';
}

}  // namespace

void write_text(TraceReader& reader, const TextSink& sink) {
  std::string out;
  put_header(out, reader.header());
  RecordView record;
  std::uint64_t next_sequence = 0;
  while (reader.next(record)) {
    const std::uint64_t sequence = reader.chunk_sequence();
    if (sequence >= next_sequence) {
      out += "chunk";
      if (sequence != next_sequence) put_pair(out, "sequence", sequence);
      out += '\n';
      next_sequence = sequence + 1;
    }
    put_record(out, record);
    if (out.size() >= kFlushBytes) {
      sink(out);
      out.clear();
    }
  }
  if (!reader.damage().none()) put_damage(out, reader.damage());
  if (!out.empty()) sink(out);
}

}  // namespace synctrace::format
