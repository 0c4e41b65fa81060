// SPDX-License-Identifier: Apache-2.0
// FNV-1a of 64 bits over texts, each closed by a byte that no text here holds: short, and the same on every machine.
// Names of findings, not a protection against anybody.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace synctrace {

class Digest {
 public:
  void add(std::string_view text) noexcept {
    for (const char c : text) take(static_cast<unsigned char>(c));
    take(0xff);
  }

  std::uint64_t number() const noexcept { return state_; }

  // The same as sixteen digits.
  std::string hex() const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(state_ >> shift) & 0xf];
    return text;
  }

 private:
  void take(unsigned char byte) noexcept { state_ = (state_ ^ byte) * 0x100000001b3U; }

  std::uint64_t state_ = 0xcbf29ce484222325U;
};

}  // namespace synctrace
