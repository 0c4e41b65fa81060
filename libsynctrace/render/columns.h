// SPDX-License-Identifier: Apache-2.0
// Printable texts and the columns of a terminal: every character counts as one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace synctrace {

// Cuts a text to so many columns, with two dots for what was cut off its end, or its begin.
std::string fitted(std::string_view text, std::size_t columns);
std::string fitted_tail(std::string_view text, std::size_t columns);
std::size_t columns_of(std::string_view text) noexcept;

}  // namespace synctrace
