// SPDX-License-Identifier: Apache-2.0
// Text that a program brings along, inside of text that somebody acts on: between backticks, in one line, and without
// a way out. Nobody has to trust it to know where it ends (docs/agents.md).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace synctrace {

// In backticks. Inside are no control characters and no backtick: that is written \u0060. What is longer than
// `most_bytes` ends in "..".
std::string marked_text(std::string_view text, std::size_t most_bytes);

}  // namespace synctrace
