// SPDX-License-Identifier: Apache-2.0
#include <cctype>

#include "render/render_digest.h"

namespace synctrace {
namespace {

enum class Sort : unsigned char { kLetters, kDigits, kBlank, kOther };

Sort sort_of(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x80 && std::isalpha(byte) != 0) return Sort::kLetters;
  if (byte < 0x80 && std::isdigit(byte) != 0) return Sort::kDigits;
  return c == ' ' ? Sort::kBlank : Sort::kOther;
}

}  // namespace

std::size_t most_tokens(std::string_view text) noexcept {
  std::size_t tokens = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const Sort sort = sort_of(text[begin]);
    std::size_t end = begin + 1;
    while (end < text.size() && sort != Sort::kOther && sort_of(text[end]) == sort) ++end;
    const std::size_t length = end - begin;
    begin = end;
    switch (sort) {
      case Sort::kLetters: tokens += (length + 4) / 5; break;
      case Sort::kDigits: tokens += (length + 2) / 3; break;
      case Sort::kBlank: tokens += length > 1 ? 1 : 0; break;
      case Sort::kOther: tokens += 1; break;
    }
  }
  return tokens;
}

}  // namespace synctrace
