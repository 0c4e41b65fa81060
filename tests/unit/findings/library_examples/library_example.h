// SPDX-License-Identifier: Apache-2.0
// A stack that leads into a library, outermost frame first: the user's line.
#pragma once

#include <string_view>
#include <vector>

#include "findings/libraries/library_remedy.h"

namespace synctrace::testing {

struct LibraryFrame {
  std::string_view file;
  std::string_view function;
  std::string_view source;
};

struct LibraryExample {
  std::string_view title;
  At at = At::kRead;
  std::vector<LibraryFrame> frames;
};

}  // namespace synctrace::testing
