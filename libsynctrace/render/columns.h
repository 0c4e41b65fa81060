// SPDX-License-Identifier: Apache-2.0
// Printable texts and the columns of a terminal: every character counts as one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace synctrace {

// Cuts a text to so many columns, at least the two that the dots take for what was cut off its end, or its begin.
std::string fitted(std::string_view text, std::size_t columns);
std::string fitted_tail(std::string_view text, std::size_t columns);
// A path without its first folders, as few of them as it takes: "pytorch/train.py". Its name stays, however long.
std::string fitted_path(std::string_view path, std::size_t columns);
// Breaks a text between words into lines of so many columns; a longer word stays whole, and "12 - 22 %" where it can.
// `keeps_numbers` false: at any blank, as in prose without figures.
std::vector<std::string> wrapped_text(std::string_view text, std::size_t columns, bool keeps_numbers = true);
std::size_t columns_of(std::string_view text) noexcept;

}  // namespace synctrace
