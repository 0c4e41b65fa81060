// SPDX-License-Identifier: Apache-2.0
// Report -> all that is known of it as text for a terminal.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "findings/report/report.h"

namespace synctrace {

inline constexpr std::size_t kFewestTextColumns = 100;  // its tables need them

struct TextOptions {
  std::size_t columns = 100;  // brought into kFewestTextColumns to kMostColumns (first_screen.h)
  bool colour = false;
  bool stacks = false;  // under each row, the stack of its calls
};

std::string render_text(const Report& report, const TextOptions& options);

// One table of the text, by its name of kTextTables.
std::string render_table(const Report& report, std::string_view name, const TextOptions& options);
inline constexpr std::array<std::string_view, 9> kTextTables = {"causes",  "calls",   "memory",  "copies", "functions",
                                                                "threads", "samples", "kernels", "ranges"};

// One line over several processes.
std::string render_total(std::span<const Report> reports);

}  // namespace synctrace
