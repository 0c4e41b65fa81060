// SPDX-License-Identifier: Apache-2.0
// The user's own line as a report shows it, with one stack that leads there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/frames.h"

namespace synctrace {

// One frame of a stack that a report shows.
struct ShownFrame {
  ResolvedFrame frame;
  std::string source;   // text of its line; empty: not known
  bool hidden = false;  // the interpreter's own machinery, of no use to most readers
};

// The user's own line that made a call.
struct SourceLine {
  std::string file;  // empty: not known
  std::uint32_t line = 0;
  std::string function;  // empty: nothing is known of the place
  std::string source;
  std::vector<ShownFrame> stack;  // the frames of one such call, innermost first

  bool known() const noexcept { return !function.empty() || !file.empty(); }
};

}  // namespace synctrace
