// SPDX-License-Identifier: Apache-2.0
// Calls that no step of a program needs: without them it computes the same.
#pragma once

#include <string_view>
#include <vector>

#include "findings/report/source_line.h"

namespace synctrace {

struct NeedlessCall {
  std::string_view call;     // text of a line: "gc.collect("
  std::string_view name;     // "gc.collect()"
  std::string_view to_type;  // instead
};

// The calls in a line of the user's; none where its text is not known.
std::vector<NeedlessCall> needless_calls(const SourceLine& where);

}  // namespace synctrace
