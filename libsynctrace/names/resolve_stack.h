// SPDX-License-Identifier: Apache-2.0
// The frames of a trace's stacks as functions, files and lines, by what the trace holds itself: nothing is looked up.
// Total on any trace, and every stack has a bounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/frames.h"
#include "model/trace.h"

namespace synctrace {

inline constexpr std::size_t kMostStackText = std::size_t{256} << 10;  // bytes of all names of one stack

// The frames of a stack with their names and lines, innermost first; empty when the trace has no such stack. Inlined
// functions are frames of their own. A native frame without a symbol is "module+0xoffset". A Python frame whose
// function the trace lacks is left out.
std::vector<ResolvedFrame> resolve_stack(const Trace& trace, StackId stack);

// The frame of a function of Python, at an offset of its bytecode.
ResolvedFrame resolve_code(const Code& code, std::int32_t offset_bytes);

// The lowest line of the function's instructions behind this offset; 0: not known (python_lines.h).
std::uint32_t lowest_line_behind(const Code& code, std::int32_t offset_bytes, bool but_last = false);

}  // namespace synctrace
