// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, as much of it as writing takes: fields by their number, messages inside messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace synctrace {

class ProtoMessage {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    tag(field, 0);
    varint(value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    tag(field, 1);
    for (int byte = 0; byte < 8; ++byte) bytes_ += static_cast<char>(value >> (8 * byte));
  }
  // Bytes; of a string field they must be UTF-8.
  void text(std::uint32_t field, std::string_view text) {
    tag(field, 2);
    varint(text.size());
    bytes_ += text;
  }
  void message(std::uint32_t field, const ProtoMessage& inner) { text(field, inner.bytes_); }

  bool empty() const noexcept { return bytes_.empty(); }
  const std::string& bytes() const noexcept { return bytes_; }
  void clear() noexcept { bytes_.clear(); }

 private:
  void tag(std::uint32_t field, std::uint32_t type) { varint(std::uint64_t{field} << 3 | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace synctrace
