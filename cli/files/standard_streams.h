// SPDX-License-Identifier: Apache-2.0
// stdout is for results, stderr for messages (messages.h). Both may be closed, full or a broken pipe, and none of that
// is a reason to fail: a program that `run` runs must not notice.
#pragma once

#include <cstddef>
#include <cstdio>

namespace synctrace::cli {

// Puts /dev/null where one of the three is closed, so that no file we open becomes "stderr" by its number. Programs
// that we start still find it closed.
void reserve_standard_streams() noexcept;

// Whether `out` is a terminal that understands colours, and the user has nothing against them (https://no-color.org:
// set and not empty means no).
bool wants_colour(std::FILE* out) noexcept;

// How wide a line of `out` may be: COLUMNS where it is set, the terminal's own width, else kPlainColumns.
std::size_t columns_of_terminal(std::FILE* out) noexcept;
inline constexpr std::size_t kPlainColumns = 100;

}  // namespace synctrace::cli
