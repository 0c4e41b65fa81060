// SPDX-License-Identifier: Apache-2.0
// The text form back to bytes: assemble_text() of trace_text.h. Records are encoded by the writer that the recorder
// uses, so a fixture has the bytes that a recorded trace would have.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "format/schema_table.h"
#include "format/trace_text.h"
#include "format/trace_writer.h"

namespace synctrace::format {
namespace {

// What is wrong with a line; turned into an Error with the line's number in one place.
struct BadLine {
  std::string why;
};

std::string quoted(std::string_view word) {
  constexpr std::size_t kShown = 60;
  return "'" + std::string(word.substr(0, kShown)) + (word.size() > kShown ? "...'" : "'");
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Takes one escape, of which `rest` begins behind the backslash.
char take_escape(std::string_view& rest) {
  const char letter = rest.empty() ? '\0' : rest[0];
  if (letter == 'x' && rest.size() >= 3 && hex_digit(rest[1]) >= 0 && hex_digit(rest[2]) >= 0) {
    const char byte = static_cast<char>(hex_digit(rest[1]) * 16 + hex_digit(rest[2]));
    rest.remove_prefix(3);
    return byte;
  }
  constexpr std::string_view kLetters = "\"\\ntr";
  constexpr std::string_view kBytes = "\"\\\n\t\r";
  const std::size_t position = kLetters.find(letter);
  if (rest.empty() || position == std::string_view::npos)
    throw BadLine{"a backslash is followed by none of \" \\ n t r xNN"};
  rest.remove_prefix(1);
  return kBytes[position];
}

// Takes a text up to and with its closing quote; `rest` begins behind the opening one.
std::string take_text(std::string_view& rest) {
  std::string text;
  while (true) {
    const std::size_t stop = rest.find_first_of("\"\\");
    if (stop == std::string_view::npos) throw BadLine{"a text has no closing quote"};
    text += rest.substr(0, stop);
    const bool closed = rest[stop] == '"';
    rest.remove_prefix(stop + 1);
    if (closed) return text;
    text += take_escape(rest);
  }
}

std::string_view take_word(std::string_view& rest) noexcept {
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(word.size());
  return word;
}

// A number as the 64 bits that a record holds: negative ones in two's complement.
std::uint64_t parse_number(std::string_view word, bool is_signed) {
  const auto parse = [&](auto number) -> std::optional<std::uint64_t> {
    const auto result = std::from_chars(word.data(), word.data() + word.size(), number);
    if (result.ec != std::errc() || result.ptr != word.data() + word.size()) return std::nullopt;
    return static_cast<std::uint64_t>(number);
  };
  const bool negative = !word.empty() && word[0] == '-';
  const auto bits = negative ? parse(std::int64_t{}) : parse(std::uint64_t{});
  if (!bits || (negative && !is_signed)) {
    throw BadLine{quoted(word) + (is_signed ? " is not a number" : " is not an unsigned number") + " of 64 bits"};
  }
  return *bits;
}

// The name=value pairs of one line.
struct Pair {
  std::string_view name;
  std::string_view word;  // when it is a number
  std::string text;       // when it is quoted
  bool is_text = false;
};

std::optional<Pair> take_pair(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
  if (rest.empty()) return std::nullopt;
  const std::size_t equals = rest.find_first_of("= ");
  if (equals == std::string_view::npos || rest[equals] != '=')
    throw BadLine{quoted(rest.substr(0, equals)) + " is not of the form name=value"};
  Pair pair;
  pair.name = rest.substr(0, equals);
  rest.remove_prefix(equals + 1);
  pair.is_text = !rest.empty() && rest[0] == '"';
  if (!pair.is_text) {
    pair.word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(pair.word.size());
    return pair;
  }
  rest.remove_prefix(1);
  pair.text = take_text(rest);
  if (!rest.empty() && rest[0] != ' ') throw BadLine{"a space is missing behind the text of " + quoted(pair.name)};
  return pair;
}

class Assembler {
 public:
  explicit Assembler(std::size_t text_bytes)
      : most_bytes_(kFewestBytes + kMostBytesOfAByte * text_bytes),
        buffer_(std::make_unique_for_overwrite<std::byte[]>(kBufferBytes)),
        writer_({buffer_.get(), kBufferBytes}) {}

  void take_line(std::string_view line);
  std::vector<std::byte> finish();

 private:
  void take_header(std::string_view rest);
  void take_chunk(std::string_view rest);
  void take_record(std::string_view kind, std::string_view rest);
  void add(const SchemaTable::Entry& kind, std::span<const RecordView::Value> values);
  void flush();

  static constexpr std::size_t kBufferBytes = sizeof(ChunkHeader) + kMaxChunkBytes;

  // A few words of a text can stand for kilobytes, but not on every line of an honest one.
  static constexpr std::size_t kFewestBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMostBytesOfAByte = 8;

  const std::size_t most_bytes_;

  std::vector<std::byte> out_;
  std::unique_ptr<std::byte[]> buffer_;
  ChunkWriter writer_;
  SchemaTable schemas_;
  std::uint64_t next_sequence_ = 0;
};

void Assembler::take_line(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  std::string_view rest = line;
  const std::string_view word = take_word(rest);
  if (word.empty() || word[0] == '#') return;
  if (out_.size() > most_bytes_) throw BadLine{"the trace becomes more than 8 times as large as its text"};
  if (out_.empty()) {
    if (word != "synctrace-text") throw BadLine{"the first line does not begin with 'synctrace-text 1'"};
    return take_header(rest);
  }
  if (word == "chunk") return take_chunk(rest);
  if (word != "schemas") return take_record(word, rest);
  if (!take_word(rest).empty()) throw BadLine{"'schemas' stands alone on its line"};
  bool agrees = true;
  for_each_schema([&](const Schema& schema) {
    agrees = agrees && schemas_.learn(schema);
    const std::array<RecordView::Value, 3> values = {{{schema.kind, {}}, {0, schema.name}, {0, schema.field_list}}};
    add(*schemas_.find(static_cast<std::uint64_t>(RecordKind::kSchema)), values);
  });
  if (!agrees) throw BadLine{"this version's schemas contradict an earlier one"};
}

void Assembler::take_header(std::string_view rest) {
  if (take_word(rest) != "1") throw BadLine{"the first line does not begin with 'synctrace-text 1'"};
  FileHeader header;
  const auto take = [](const Pair& pair, auto& member) {
    const std::uint64_t number = parse_number(pair.word, false);
    member = static_cast<std::remove_reference_t<decltype(member)>>(number);
    if (member != number) throw BadLine{quoted(pair.word) + " is too large for " + std::string(pair.name)};
  };
  while (const auto pair = take_pair(rest)) {
    if (pair->name == "start_realtime_ns") {
      take(*pair, header.start_realtime_ns);
    } else if (pair->name == "process_id") {
      take(*pair, header.process_id);
    } else if (pair->name == "format_minor") {
      take(*pair, header.minor);
    } else {
      throw BadLine{"the first line has no field " + quoted(pair->name)};
    }
  }
  const auto bytes = std::as_bytes(std::span(&header, 1));
  header.crc = crc32c(bytes.first(offsetof(FileHeader, crc)));
  out_.assign(bytes.begin(), bytes.end());
}

void Assembler::take_chunk(std::string_view rest) {
  flush();
  const auto pair = take_pair(rest);
  if (!pair) return;
  if (pair->name != "sequence" || take_pair(rest)) throw BadLine{"a chunk has one field, sequence"};
  const std::uint64_t sequence = parse_number(pair->word, false);
  if (sequence < next_sequence_ || sequence == std::numeric_limits<std::uint64_t>::max()) {
    throw BadLine{"the chunk before this one has a higher sequence number, or this one's is too large"};
  }
  next_sequence_ = sequence;
}

void Assembler::take_record(std::string_view name, std::string_view rest) {
  const SchemaTable::Entry* kind = schemas_.find(name);
  if (kind == nullptr)
    throw BadLine{"unknown kind " + quoted(name) + "; a kind of another version needs its schema line first"};
  const auto& fields = kind->layout.fields;
  std::array<RecordView::Value, kMaxFields> values{};
  std::array<bool, kMaxFields> seen{};
  std::deque<std::string> texts;  // keeps the addresses that `values` refers to
  while (auto pair = take_pair(rest)) {
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const FieldLayout& f) { return f.name == pair->name; });
    if (field == fields.end()) throw BadLine{std::string(name) + " has no field " + quoted(pair->name)};
    const auto index = static_cast<std::size_t>(field - fields.begin());
    if (std::exchange(seen[index], true)) throw BadLine{"the field " + quoted(pair->name) + " is there twice"};
    const bool is_text = field->encoding == Encoding::kText;
    if (is_text != pair->is_text)
      throw BadLine{quoted(pair->name) + (is_text ? " needs a quoted text" : " needs a number")};
    if (pair->text.size() > kMaxTextBytes) throw BadLine{"the text of " + quoted(pair->name) + " is too long"};
    if (is_text) {
      values[index].text = texts.emplace_back(std::move(pair->text));
    } else {
      values[index].number = parse_number(pair->word, field->encoding != Encoding::kUnsigned);
    }
  }
  add(*kind, std::span(values).first(fields.size()));
  if (kind->layout.kind != static_cast<std::uint32_t>(RecordKind::kSchema)) return;
  if (values[0].number >= kMaxKinds) throw BadLine{"kind numbers are below " + std::to_string(kMaxKinds)};
  if (!schemas_.learn({static_cast<std::uint32_t>(values[0].number), values[1].text, values[2].text})) {
    throw BadLine{"the schema of " + quoted(values[1].text) + " is malformed or contradicts an earlier one"};
  }
}

void Assembler::add(const SchemaTable::Entry& kind, std::span<const RecordView::Value> values) {
  const auto encodings = std::span(kind.encodings).first(values.size());
  if (writer_.add_fields(kind.layout.kind, encodings, values)) return;
  flush();
  if (!writer_.add_fields(kind.layout.kind, encodings, values)) throw BadLine{"the record is too large"};
}

void Assembler::flush() {
  const auto chunk = writer_.finish();
  if (chunk.empty()) return;
  const auto payload = chunk.subspan(sizeof(ChunkHeader));
  const ChunkHeader header =
      make_chunk_header(payload, static_cast<std::uint32_t>(payload.size()), Codec::kRaw, next_sequence_++);
  const auto bytes = std::as_bytes(std::span(&header, 1));
  out_.insert(out_.end(), bytes.begin(), bytes.end());
  out_.insert(out_.end(), payload.begin(), payload.end());
}

std::vector<std::byte> Assembler::finish() {
  if (out_.empty()) throw BadLine{"the text is empty; it should begin with 'synctrace-text 1'"};
  flush();
  return std::move(out_);
}

}  // namespace

Result<std::vector<std::byte>> assemble_text(std::string_view text, const std::string& name) {
  Assembler assembler(text.size());
  std::size_t line_number = 0;
  try {
    while (!text.empty()) {
      ++line_number;
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      assembler.take_line(line);
    }
    return assembler.finish();
  } catch (const BadLine& bad) {
    return Error{name + ":" + std::to_string(std::max<std::size_t>(line_number, 1)) + ": " + bad.why};
  }
}

}  // namespace synctrace::format
