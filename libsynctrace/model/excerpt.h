// SPDX-License-Identifier: Apache-2.0
// A part of a trace as a trace of its own: the rows that began, or were issued, in a span of time, with all
// definitions. For questions whose answer costs too much for the whole of a long run.
#pragma once

#include "model/correlate.h"
#include "model/trace.h"

namespace synctrace {

Trace excerpt_of(const Trace& trace, const Correlation& correlation, TimeSpan span);

// Launches, calls and pieces of GPU work together.
std::size_t rows_of(const Trace& trace) noexcept;

}  // namespace synctrace
