// SPDX-License-Identifier: Apache-2.0
// The names of kernels in words. A mangled name of 400 bytes can stand for gigabytes, each part of it twice the one
// before, and the demangler knows no limit: so a name is measured before it is taken apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace synctrace {

// A C++ name in words; unchanged if it is none, or longer than kLongestWords in words.
std::string demangled(const std::string& name);
inline constexpr std::uint64_t kLongestWords = std::uint64_t{1} << 20;

// At least as long as the name is in words: counted by the grammar of the Itanium C++ ABI, where a part refers to
// earlier ones. The largest number for what a kernel's name does not have (expressions, lambdas).
std::uint64_t measure_words(std::string_view mangled);

}  // namespace synctrace
