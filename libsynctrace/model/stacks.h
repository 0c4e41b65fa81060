// SPDX-License-Identifier: Apache-2.0
// Host stacks: from the text of a stack record to frames (names/ says what they are called). Total on any text: what
// makes no sense is left out, and every stack has a bounded size, whatever its trace says.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "model/trace.h"

namespace synctrace {

inline constexpr std::size_t kMostStackFrames = 1024;  // in one stack, inlined functions included
inline constexpr std::size_t kMostInlined = 256;       // functions at one address

// "n3:1f2a p12:34 p5:6! n7:9e0" -> frames, in the same order (format/records.h has the grammar). Frames beyond
// kMostStackFrames are missing, and the last one says so.
std::vector<StackFrame> parse_stack(std::string_view frames);

}  // namespace synctrace
