// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol (thrift_writer.h), read from any bytes. What does not fit makes the reader bad: from then
// on every value is zero or empty, and every loop ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace synctrace {

class ThriftReader {
 public:
  // `bytes` outlive the reader and the texts that it gives.
  explicit ThriftReader(std::string_view bytes) noexcept : bytes_(bytes) {}

  bool is_bad() const noexcept { return bad_; }
  std::size_t at() const noexcept { return at_; }  // bytes read

  void refuse() noexcept { bad_ = true; }  // what was read makes no sense

  // Reads a struct: `see(number)` reads the field's value by one of the functions below and says true; what it says
  // false of is skipped.
  template <class See>
  void each_field(See see) {
    if (++depth_ > kDeepest) bad_ = true;
    unsigned number = 0;  // in a damaged file it wraps
    for (unsigned head = byte(); !bad_ && head != 0; head = byte()) {
      number = head >> 4 == 0 ? static_cast<unsigned>(integer_value()) : number + (head >> 4);
      type_ = head & 15;
      if (!see(static_cast<int>(number))) skip(head & 15);
    }
    --depth_;
  }

  // Reads a list: `see()` reads one item.
  template <class See>
  void each_item(See see) {
    if (type_ != kList) return fail();
    if (++depth_ > kDeepest) fail();  // lists of lists, too, go no deeper than the stack
    const unsigned head = byte();
    std::uint64_t count = head >> 4 == 15 ? varint() : head >> 4;
    if (count > left()) fail();  // an item has a byte at least
    for (; count > 0 && !bad_; --count) {
      type_ = head & 15;
      see();
    }
    --depth_;
  }

  std::int64_t integer() {
    if (type_ < kByte + 1 || type_ > kLong) return fail(), 0;
    return integer_value();
  }
  std::string_view text() {
    if (type_ != kText) return fail(), std::string_view();
    const std::uint64_t size = varint();
    if (size > left()) return fail(), std::string_view();
    at_ += static_cast<std::size_t>(size);
    return bytes_.substr(at_ - static_cast<std::size_t>(size), static_cast<std::size_t>(size));
  }
  bool is_struct() noexcept {
    if (type_ != kStruct) fail();
    return !bad_;
  }

 private:
  static constexpr unsigned kFalse = 2;
  static constexpr unsigned kByte = 3;
  static constexpr unsigned kLong = 6;
  static constexpr unsigned kDouble = 7;
  static constexpr unsigned kText = 8;
  static constexpr unsigned kList = 9;
  static constexpr unsigned kStruct = 12;
  static constexpr int kDeepest = 16;

  void fail() noexcept { bad_ = true; }
  std::size_t left() const noexcept { return bytes_.size() - at_; }

  unsigned byte() noexcept {
    if (bad_ || at_ == bytes_.size()) return fail(), 0;
    return static_cast<unsigned char>(bytes_[at_++]);
  }
  std::uint64_t varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const unsigned next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
    return fail(), 0;
  }
  std::int64_t integer_value() noexcept {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }

  void skip(unsigned type) {
    type_ = type;
    if (type == kByte)
      byte();
    else if (type > kByte && type <= kLong)
      integer_value();
    else if (type == kText)
      text();
    else if (type == kList)
      each_item([&] { skip_item(); });
    else if (type == kStruct)
      each_field([](int) { return false; });
    else if (type == 0 || type > kFalse)
      fail();  // doubles, sets and maps: never in what we read
  }
  void skip_item() {
    if (type_ == 1 || type_ == kFalse)
      byte();
    else
      skip(type_);
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  unsigned type_ = kStruct;  // what is read next
  int depth_ = 0;
  bool bad_ = false;
};

}  // namespace synctrace
