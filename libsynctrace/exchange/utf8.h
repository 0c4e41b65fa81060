// SPDX-License-Identifier: Apache-2.0
// Names may hold any bytes; most formats want UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace synctrace {

// The same text where it is UTF-8; what is not becomes U+FFFD.
std::string valid_utf8(std::string_view text);

// The same without zero bytes, at which many readers end a text.
std::string valid_text(std::string_view text);

}  // namespace synctrace
