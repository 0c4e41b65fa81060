// SPDX-License-Identifier: Apache-2.0
#include "base/format_text.h"

#include <iterator>

#include <fmt/format.h>

namespace synctrace {

void append_formatted(std::string& out, fmt::string_view format, fmt::format_args arguments) {
  fmt::vformat_to(std::back_inserter(out), format, arguments);
}

}  // namespace synctrace
