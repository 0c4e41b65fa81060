// SPDX-License-Identifier: Apache-2.0
// Graphs of which one takes the place of another: a program that is compiled again launches a new graph where it
// launched the old one before. For its steps both do the same.
#pragma once

#include <unordered_map>

#include "model/correlate.h"
#include "model/trace.h"

namespace synctrace {

// For each graph the first one in whose place it is: launched with the same stack, and only after that one's last
// launch. A graph without stacks stands for itself.
std::unordered_map<GraphId, GraphId> first_graphs(const Trace& trace, const Correlation& correlation);

}  // namespace synctrace
