// SPDX-License-Identifier: Apache-2.0
// In whose terms a line of the program is to be changed.
#pragma once

#include <cstdint>
#include <vector>

#include "findings/report/savings.h"
#include "model/trace.h"

namespace synctrace {

enum class Framework : std::uint8_t { kCuda, kPyTorch, kJax, kCupy };

// By the libraries on the stacks of the lines, and where there are none by those that the process loaded.
Framework framework_of(const std::vector<ShownFix>& fixes, const Trace& trace);

}  // namespace synctrace
