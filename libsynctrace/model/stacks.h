// SPDX-License-Identifier: Apache-2.0
// Host stacks: from the text of a stack record to frames, and from frames to functions, files and lines. Total on any
// text: what makes no sense is left out.
#pragma once

#include <string_view>
#include <vector>

#include "model/frames.h"
#include "model/trace.h"

namespace synctrace {

// "p12:34 p5:6!" -> frames, in the same order.
std::vector<StackFrame> parse_stack(std::string_view frames);

// The frames of a stack with their names and lines, innermost first; empty when the trace has no such stack. A frame whose
// function the trace lacks is left out.
std::vector<ResolvedFrame> resolve_stack(const Trace& trace, StackId stack);

}  // namespace synctrace
