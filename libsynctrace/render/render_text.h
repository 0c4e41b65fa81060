// SPDX-License-Identifier: Apache-2.0
// Report -> text for a terminal of 100 columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "findings/report.h"

namespace synctrace {

enum class TextLength : std::uint8_t {
  kShort,  // head, dearest waits, and losses graver than a note
  kFull,
};

struct TextOptions {
  TextLength length = TextLength::kFull;
  bool colour = false;
  bool stacks = false;  // under each row, the stack of its calls
};

std::string render_text(const Report& report, const TextOptions& options);

// One line over several processes.
std::string render_total(std::span<const Report> reports);

}  // namespace synctrace
