// SPDX-License-Identifier: Apache-2.0
// The gate's result for a terminal and for tools that read compilers: "path:line: error: message [ST020 scalar-read]".
#pragma once

#include <string>

#include "gate/gate.h"

namespace synctrace {

struct GateTextOptions {
  bool colour = false;
  bool all = false;  // also what is allowed, in the baseline, or never waited
};

std::string render_gate_text(const GateResult& result, const GateTextOptions& options);

}  // namespace synctrace
