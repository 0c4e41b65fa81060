// SPDX-License-Identifier: Apache-2.0
// Records -> bytes. Encodes into memory that the caller gives, allocates nothing, throws nothing: it runs in the
// recorder's drain thread inside somebody else's process. One thread at a time; what becomes of a finished chunk
// (file, test, benchmark) is the caller's business.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "format/records.h"

namespace synctrace::format {

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

// A file header with its checksum filled in.
FileHeader make_file_header(std::uint64_t start_realtime_ns, std::uint32_t process_id) noexcept;

// A chunk header for `stored`, which decodes to `raw_bytes` bytes, with both checksums filled in.
ChunkHeader make_chunk_header(std::span<const std::byte> stored, std::uint32_t raw_bytes, Codec codec,
                              std::uint64_t sequence) noexcept;

// Fills one chunk after another in a buffer of the caller's.
//
//   ChunkWriter writer(buffer);
//   if (!writer.add(record)) { sink(writer.finish()); writer.add(record); }
class ChunkWriter {
 public:
  // `buffer` stays the caller's and must outlive the writer: at least kMinBufferBytes, at most header + kMaxChunkBytes
  // of it are used. `first_sequence` is the number of the first chunk.
  static constexpr std::size_t kMinBufferBytes = sizeof(ChunkHeader) + 2 * kMaxRecordBytes;
  explicit ChunkWriter(std::span<std::byte> buffer, std::uint64_t first_sequence = 0) noexcept;

  // False when the chunk has no room for a record of the largest size: finish() it and add again. Texts longer than
  // kMaxTextBytes are cut.
  template <class Record>
  [[nodiscard]] bool add(const Record& record) noexcept;

  // The same for a record whose layout is known at run time only (the text form): one value for each encoding, with
  // members `number` (two's complement for signed and delta fields) and `text`. `kind` is below kMaxKinds. False also
  // when the record could exceed kMaxRecordBytes.
  template <class Value>
  [[nodiscard]] bool add_fields(std::uint32_t kind, std::span<const Encoding> encodings,
                                std::span<const Value> values) noexcept;

  bool empty() const noexcept { return used_ == sizeof(ChunkHeader); }
  std::size_t payload_bytes() const noexcept { return used_ - sizeof(ChunkHeader); }
  std::uint64_t record_count() const noexcept { return record_count_; }

  // The finished chunk, header and payload, in the caller's buffer: valid until the next add(). Empty when there was
  // no record. The writer goes on with an empty chunk of the next sequence number.
  std::span<const std::byte> finish() noexcept;

  // The chunk that finish() gave last went nowhere, on purpose: the next one takes its number. It must not refer to it.
  void reuse_number() noexcept { --sequence_; }

 private:
  template <class Record, class Value>
  void put_field(const Record& record, const Field<Record, Value>& field, std::size_t index) noexcept;
  void put_number(Encoding encoding, std::uint64_t value, std::uint64_t& previous) noexcept;
  std::size_t begin_record(std::size_t kind) noexcept;
  void put_varint(std::uint64_t value) noexcept;
  void put_text(std::string_view text) noexcept;
  void close_record(std::size_t body_begin) noexcept;

  std::span<std::byte> buffer_;
  std::size_t used_ = sizeof(ChunkHeader);
  std::uint64_t sequence_ = 0;
  std::uint64_t record_count_ = 0;
  // The previous value of each delta field of each kind in this chunk.
  std::array<std::array<std::uint64_t, kMaxFields>, kMaxKinds> previous_{};
};

// The schema record of every kind, for the first chunk. Calls `sink(const Schema&)` for each.
template <class Sink>
void for_each_schema(Sink&& sink) noexcept(std::is_nothrow_invocable_v<Sink&, const Schema&>);

// 1 2 3 4... <- 0 -1 1 -2...: small magnitudes become small varints.
constexpr std::uint64_t zigzag(std::int64_t value) noexcept {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

template <class Value>
constexpr std::uint64_t to_wire(Value value) noexcept {
  if constexpr (std::is_enum_v<Value>) {
    return static_cast<std::uint64_t>(number(value));
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

template <class Record, class Value>
void ChunkWriter::put_field(const Record& record, const Field<Record, Value>& field, std::size_t index) noexcept {
  if constexpr (std::is_same_v<Value, std::string_view>) {
    put_text(record.*field.member);
  } else {
    put_number(field.encoding, to_wire(record.*field.member),
               previous_[static_cast<std::size_t>(Record::kKind)][index]);
  }
}

template <class Record>
bool ChunkWriter::add(const Record& record) noexcept {
  if (buffer_.size() - used_ < kMaxRecordBytes) return false;
  const std::size_t body_begin = begin_record(static_cast<std::size_t>(Record::kKind));
  // In line, or the fields' names and encodings would be written to memory for each record.
  Record::with_fields([&](const auto&... field) __attribute__((always_inline)) {
    std::size_t index = 0;
    (put_field(record, field, index++), ...);
  });
  close_record(body_begin);
  return true;
}

template <class Value>
bool ChunkWriter::add_fields(std::uint32_t kind, std::span<const Encoding> encodings,
                             std::span<const Value> values) noexcept {
  std::size_t most_bytes = 8;  // kind and length
  for (const Value& value : values) most_bytes += kMaxVarintBytes + value.text.substr(0, kMaxTextBytes).size();
  if (most_bytes > kMaxRecordBytes || buffer_.size() - used_ < kMaxRecordBytes) return false;
  const std::size_t body_begin = begin_record(kind);
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    if (encodings[i] == Encoding::kText) {
      put_text(values[i].text);
    } else {
      put_number(encodings[i], values[i].number, previous_[kind][i]);
    }
  }
  close_record(body_begin);
  return true;
}

inline std::size_t ChunkWriter::begin_record(std::size_t kind) noexcept {
  buffer_[used_] = static_cast<std::byte>(kind);
  used_ += 2;  // kind and a one-byte length: nearly every record is shorter than 128
  return used_;
}

inline void ChunkWriter::put_number(Encoding encoding, std::uint64_t value, std::uint64_t& previous) noexcept {
  switch (encoding) {
    case Encoding::kDelta:
      put_varint(zigzag(static_cast<std::int64_t>(value - previous)));
      previous = value;
      break;
    case Encoding::kSigned: put_varint(zigzag(static_cast<std::int64_t>(value))); break;
    default: put_varint(value);
  }
}

inline void ChunkWriter::put_varint(std::uint64_t value) noexcept {
  std::byte* out = buffer_.data() + used_;
  while (value >= 0x80) {
    *out++ = static_cast<std::byte>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<std::byte>(value);
  used_ = static_cast<std::size_t>(out - buffer_.data());
}

template <class Sink>
void for_each_schema(Sink&& sink) noexcept(std::is_nothrow_invocable_v<Sink&, const Schema&>) {
  const auto describe = [&]<class Record>(const Record*) {
    std::array<char, kMaxFields * 32> text{};
    std::size_t length = 0;
    const auto put = [&](std::string_view part) {
      std::memcpy(text.data() + length, part.data(), part.size());
      length += part.size();
    };
    Record::with_fields([&](const auto&... field) {
      ((put(length == 0 ? "" : " "), put(field.name), put(":"), text[length++] = static_cast<char>(field.encoding)),
       ...);
    });
    sink(Schema{static_cast<std::uint32_t>(Record::kKind), Record::kName, {text.data(), length}});
  };
  std::apply([&](const auto&... record) { (describe(&record), ...); }, AllRecords{});
}

}  // namespace synctrace::format
