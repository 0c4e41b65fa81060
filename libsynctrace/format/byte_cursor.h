// SPDX-License-Identifier: Apache-2.0
// Reads numbers and texts from the front of a record's body. Trusts nothing: what does not fit sets `failed`, and gives
// zero or no text from then on at worst. Inlined wherever it is used, so that a cursor of one's own stays in registers:
// of a report's decoding that takes a seventh.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "format/trace_format.h"

namespace synctrace::format {

struct ByteCursor {
  const std::byte* at;
  const std::byte* end;       // where the body ends
  const std::byte* readable;  // end of the memory behind `at`: the chunk's, at `end` or later
  bool failed = false;

  std::size_t left() const noexcept { return static_cast<std::size_t>(end - at); }

  [[gnu::always_inline]] std::uint64_t varint() noexcept {
    if (at != end && static_cast<std::uint8_t>(*at) < 0x80) return static_cast<std::uint8_t>(*at++);
    return long_varint();
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

 private:
  // Reads up to eight bytes at once: times and lengths vary in length from record to record, and a branch for each byte
  // would be guessed wrong.
  [[gnu::always_inline]] std::uint64_t long_varint() noexcept {
    if (readable - at < 8) return rare_varint();
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    const std::uint64_t stops = ~word & 0x8080'8080'8080'8080U;
    const auto bytes = static_cast<std::size_t>(std::countr_zero(stops)) / 8 + 1;
    if (stops == 0 || bytes > left()) return rare_varint();
    at += bytes;
    word &= (stops ^ (stops - 1)) & 0x7f7f'7f7f'7f7f'7f7fU;
    word = (word & 0x007f'007f'007f'007fU) | (word & 0x7f00'7f00'7f00'7f00U) >> 1;
    word = (word & 0x0000'3fff'0000'3fffU) | (word & 0x3fff'0000'3fff'0000U) >> 2;
    return (word & 0x0000'0000'0fff'ffffU) | (word & 0x0fff'ffff'0000'0000U) >> 4;
  }

  std::uint64_t rare_varint() noexcept {
    ByteCursor copy = *this;  // whose address may be known
    const std::uint64_t value = copy.varint_by_byte();
    *this = copy;
    return value;
  }

  [[gnu::noinline]] std::uint64_t varint_by_byte() noexcept {
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
};

// 0 1 2 3 4... -> 0 -1 1 -2 2...
constexpr std::uint64_t unzigzag(std::uint64_t value) noexcept { return (value >> 1) ^ (~(value & 1U) + 1U); }

}  // namespace synctrace::format
