// SPDX-License-Identifier: Apache-2.0
// Numbers and pointers as DWARF and .eh_frame encode them, read from the front of a span. Every read is bounded; the
// first one beyond the end makes it and all later ones give 0, and ok() false. Only eh_frame.cpp and cfi_rows.cpp use
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace synctrace::capture::dwarf {

using Bytes = std::span<const std::byte>;

// Pointer encodings (LSB core, "DWARF Exception Header Encoding"): low four bits say how, the next three relative to
// what.
inline constexpr std::uint8_t kOmit = 0xff;
inline constexpr std::uint8_t kFormatMask = 0x0f;
inline constexpr std::uint8_t kBaseMask = 0x70;
inline constexpr std::uint8_t kIndirect = 0x80;
inline constexpr std::uint8_t kAbsolute = 0;
inline constexpr std::uint8_t kUleb = 1;
inline constexpr std::uint8_t kUdata2 = 2;
inline constexpr std::uint8_t kUdata4 = 3;
inline constexpr std::uint8_t kUdata8 = 4;
inline constexpr std::uint8_t kSleb = 9;
inline constexpr std::uint8_t kSdata2 = 10;
inline constexpr std::uint8_t kSdata4 = 11;
inline constexpr std::uint8_t kSdata8 = 12;
inline constexpr std::uint8_t kNoBase = 0x00;
inline constexpr std::uint8_t kPcRelative = 0x10;
inline constexpr std::uint8_t kDataRelative = 0x30;
inline constexpr std::uint8_t kAligned = 0x50;

class DwarfCursor {
 public:
  DwarfCursor(Bytes bytes, std::uint64_t address) noexcept : bytes_(bytes), address_(address) {}

  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return !ok_ || position_ == bytes_.size(); }
  std::size_t position() const noexcept { return position_; }
  Bytes rest() const noexcept { return ok_ ? bytes_.subspan(position_) : Bytes{}; }
  std::uint64_t address() const noexcept { return address_ + position_; }
  void fail() noexcept { ok_ = false; }

  template <class Number>
  Number fixed() noexcept {
    Number value{};
    const Bytes from = take(sizeof(Number));
    if (ok_) std::memcpy(&value, from.data(), sizeof(Number));
    return value;
  }

  Bytes take(std::uint64_t count) noexcept {
    if (!ok_ || count > bytes_.size() - position_) {
      ok_ = false;
      return {};
    }
    const Bytes taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

  std::uint64_t uleb() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    ok_ = false;
    return 0;
  }

  std::int64_t sleb() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) != 0) continue;
      if ((byte & 0x40U) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
      return static_cast<std::int64_t>(value);
    }
    ok_ = false;
    return 0;
  }

  // `data_base`: what kDataRelative is relative to; 0 where that is not known, and then it fails.
  std::uint64_t pointer(std::uint8_t encoding, std::uint64_t data_base) noexcept {
    if ((encoding & kBaseMask) == kAligned) {
      take(-address() & 7U);
      return fixed<std::uint64_t>();
    }
    const std::uint64_t base = base_of(encoding, data_base);
    const std::uint64_t value = number(encoding & kFormatMask);
    return value == 0 ? 0 : base + value;
  }

  std::uint64_t number(unsigned format) noexcept {
    const auto widen = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    switch (format) {
      case kAbsolute:
      case kUdata8:
      case kSdata8: return fixed<std::uint64_t>();
      case kUleb: return uleb();
      case kUdata2: return fixed<std::uint16_t>();
      case kUdata4: return fixed<std::uint32_t>();
      case kSleb: return widen(sleb());
      case kSdata2: return widen(fixed<std::int16_t>());
      case kSdata4: return widen(fixed<std::int32_t>());
      default: ok_ = false; return 0;
    }
  }

 private:
  std::uint64_t base_of(std::uint8_t encoding, std::uint64_t data_base) noexcept {
    switch (encoding & kBaseMask) {
      case kNoBase: return 0;
      case kPcRelative: return address();
      case kDataRelative: ok_ = ok_ && data_base != 0; return data_base;
      default: ok_ = false; return 0;  // relative to a text section or a function: nobody emits them on these machines
    }
  }

  Bytes bytes_;
  std::uint64_t address_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace synctrace::capture::dwarf
