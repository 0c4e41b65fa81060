// SPDX-License-Identifier: Apache-2.0
// Host stacks: from the text of a stack record to frames, and from frames to functions, files and lines. Total on any
// text: what makes no sense is left out, and every stack has a bounded size, whatever its trace says.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "model/frames.h"
#include "model/trace.h"

namespace synctrace {

inline constexpr std::size_t kMostStackFrames = 1024;                  // of one stack, inlined functions included
inline constexpr std::size_t kMostStackText = std::size_t{256} << 10;  // bytes of all names of one stack
inline constexpr std::size_t kMostInlined = 256;                       // functions at one address

// "n3:1f2a p12:34 p5:6! n7:9e0" -> frames, in the same order (format/records.h has the grammar). Frames beyond
// kMostStackFrames are missing, and the last one says so.
std::vector<StackFrame> parse_stack(std::string_view frames);

// The frames of a stack with their names and lines, innermost first; empty when the trace has no such stack. Inlined
// functions are frames of their own. A native frame without a symbol is "module+0xoffset". A Python frame whose
// function the trace lacks is left out.
std::vector<ResolvedFrame> resolve_stack(const Trace& trace, StackId stack);

// The frames at one place in code, innermost first, never none.
std::vector<ResolvedFrame> resolve_address(const Trace& trace, const CodeAddress& address);

// The frame of a function of Python, at an offset of its bytecode.
ResolvedFrame resolve_code(const Code& code, std::int32_t offset_bytes);

}  // namespace synctrace
