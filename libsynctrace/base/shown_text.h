// SPDX-License-Identifier: Apache-2.0
// How a text that came from a file or from the program under test is shown, in every output: nothing of it steers a
// terminal, ends a line, or turns the direction in which the rest is read.
#pragma once

#include <string>
#include <string_view>

namespace synctrace {

// For people: control characters and broken UTF-8 become '?', deceptive characters (base/utf8.h) their escape, the six
// characters "\u202e".
std::string printable(std::string_view text);

// For other tools' formats, whose readers show names: valid UTF-8, with U+FFFD for what is not. Deceptive characters
// are escaped in the same way; control characters stay as they are.
std::string valid_utf8(std::string_view text);

// The same without zero bytes, at which many readers end a text.
std::string valid_text(std::string_view text);

}  // namespace synctrace
