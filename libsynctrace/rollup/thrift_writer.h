// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol, as far as the headers and the footer of a Parquet file need it.
//
//   struct   its fields, each: one byte (number - the last one's) << 4 | type, value; then a zero byte
//   integer  zigzag, as a varint        text  length as a varint, bytes
//   list     one byte count << 4 | type of its items, or 0xf0 | type and the count as a varint; items
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace synctrace {

class ThriftWriter {
 public:
  enum class Type : std::uint8_t { kInt = 5, kLong = 6, kText = 8, kList = 9, kStruct = 12 };

  // Fields of the innermost open struct; numbers ascend.
  void integer(int field, std::int32_t value) { head(field, Type::kInt), zigzag(value); }
  void long_integer(int field, std::int64_t value) { head(field, Type::kLong), zigzag(value); }
  void text(int field, std::string_view value) { head(field, Type::kText), text_item(value); }

  // Until end_struct() all fields are those of this one.
  void begin_struct(int field) { head(field, Type::kStruct), open(); }
  void end_struct() {
    bytes_ += '\0';
    last_ = outer_.back();
    outer_.pop_back();
  }

  // Followed by `count` items.
  void begin_list(int field, Type of, std::size_t count) {
    head(field, Type::kList);
    const bool is_short = count < 15;
    bytes_ += static_cast<char>((is_short ? count : 15) << 4 | number(of));
    if (!is_short) varint(count);
  }
  void integer_item(std::int32_t value) { zigzag(value); }
  void text_item(std::string_view value) { varint(value.size()), bytes_ += value; }
  void begin_item() { open(); }  // a struct; ends with end_struct()

  // The outermost struct is open from the beginning.
  std::string finish() {
    bytes_ += '\0';
    return std::move(bytes_);
  }

 private:
  static constexpr unsigned number(Type type) noexcept { return static_cast<unsigned>(type); }

  void head(int field, Type type) {  // fields here are never further apart than 15
    bytes_ += static_cast<char>(static_cast<unsigned>(field - last_) << 4 | number(type));
    last_ = field;
  }
  void open() {
    outer_.push_back(static_cast<char>(last_));
    last_ = 0;
  }
  void zigzag(std::int64_t value) {
    varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
  std::string outer_;  // last_ of the structs around
  int last_ = 0;       // number of the last field
};

}  // namespace synctrace
