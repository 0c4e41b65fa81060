// SPDX-License-Identifier: Apache-2.0
// Faults beside the lines that wait: limits that were passed, entries of the allow list that nobody needs, and reasons
// why a trace cannot pass.
#pragma once

#include <span>

#include "gate/gate.h"

namespace synctrace {

// Fills complaints, nothing and more remarks.
void add_complaints(std::span<const Observation> observations, const GateConfig& config, const AllowBook& book,
                    GateResult& result);

}  // namespace synctrace
