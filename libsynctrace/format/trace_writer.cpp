// SPDX-License-Identifier: Apache-2.0
#include "format/trace_writer.h"

#include <algorithm>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace synctrace::format {
namespace {

constexpr std::uint32_t kCastagnoli = 0x82f63b78;  // reflected polynomial

constexpr std::array<std::uint32_t, 256> make_crc_table() noexcept {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1U) != 0 ? kCastagnoli : 0);
    table[i] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kCrcTable = make_crc_table();

std::uint32_t crc_by_table(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<std::uint32_t>(byte)) & 0xffU];
  return crc;
}

#if defined(__x86_64__)
// The instruction computes exactly this polynomial; about 20 times the table's speed.
__attribute__((target("sse4.2"))) std::uint32_t crc_by_instruction(std::uint32_t crc,
                                                                   std::span<const std::byte> bytes) noexcept {
  std::uint64_t wide = crc;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    wide = _mm_crc32_u64(wide, word);
    bytes = bytes.subspan(8);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (const std::byte byte : bytes) crc = _mm_crc32_u8(crc, static_cast<std::uint8_t>(byte));
  return crc;
}
#endif

// Number of bytes that an unsigned LEB128 varint of `value` takes.
std::size_t varint_bytes(std::uint64_t value) noexcept {
  std::size_t count = 1;
  for (; value >= 0x80; value >>= 7) ++count;
  return count;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0) return ~crc_by_instruction(~0U, bytes);
#endif
  return ~crc_by_table(~0U, bytes);
}

FileHeader make_file_header(std::uint64_t start_realtime_ns, std::uint32_t process_id) noexcept {
  FileHeader header;
  header.start_realtime_ns = start_realtime_ns;
  header.process_id = process_id;
  header.crc = crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(FileHeader, crc)));
  return header;
}

ChunkHeader make_chunk_header(std::span<const std::byte> stored, std::uint32_t raw_bytes, Codec codec,
                              std::uint64_t sequence) noexcept {
  ChunkHeader header;
  header.stored_bytes = static_cast<std::uint32_t>(stored.size());
  header.raw_bytes = raw_bytes;
  header.codec = codec;
  header.sequence = sequence;
  header.payload_crc = crc32c(stored);
  header.header_crc = crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(ChunkHeader, header_crc)));
  return header;
}

ChunkWriter::ChunkWriter(std::span<std::byte> buffer, std::uint64_t first_sequence) noexcept
    : buffer_(buffer.first(std::min(buffer.size(), sizeof(ChunkHeader) + kMaxChunkBytes))), sequence_(first_sequence) {}

void ChunkWriter::put_text(std::string_view text) noexcept {
  text = text.substr(0, kMaxTextBytes);
  put_varint(text.size());
  if (!text.empty()) std::memcpy(buffer_.data() + used_, text.data(), text.size());
  used_ += text.size();
}

void ChunkWriter::close_record(std::size_t body_begin) noexcept {
  ++record_count_;
  const std::size_t length = used_ - body_begin;
  const std::size_t extra = varint_bytes(length) - 1;
  if (extra != 0) std::memmove(buffer_.data() + body_begin + extra, buffer_.data() + body_begin, length);
  used_ = body_begin - 1;
  put_varint(length);
  used_ += length;
}

std::span<const std::byte> ChunkWriter::finish() noexcept {
  if (empty()) return {};
  const auto payload = std::span<const std::byte>(buffer_).subspan(sizeof(ChunkHeader), payload_bytes());
  const ChunkHeader header =
      make_chunk_header(payload, static_cast<std::uint32_t>(payload.size()), Codec::kRaw, sequence_++);
  std::memcpy(buffer_.data(), &header, sizeof(header));
  const auto chunk = std::span<const std::byte>(buffer_).first(used_);
  used_ = sizeof(ChunkHeader);
  previous_ = {};
  return chunk;
}

}  // namespace synctrace::format
