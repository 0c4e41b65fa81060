// SPDX-License-Identifier: Apache-2.0
// A stack record of a few bytes may name the same long function many times, and a trace may have many such stacks. What
// their names come to in all is bounded here, once for whoever resolves them.
#pragma once

#include <cstdint>

#include "model/trace.h"

namespace synctrace {

// Replaces a stack by a hole once the names of all stacks before it (by number) are longer than any recording's with
// stacks of that size. Returns how many it replaced.
std::uint64_t cut_swollen_stacks(Trace& trace);

}  // namespace synctrace
