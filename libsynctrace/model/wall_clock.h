// SPDX-License-Identifier: Apache-2.0
// Times of a trace on the wall clock, which is what several traces and other tools have in common.
#pragma once

#include <cstdint>
#include <optional>

#include "model/trace.h"

namespace synctrace {

// The wall clock's lead over the trace's own clock, as the recorder read both at once; nothing where it did not.
std::optional<Nanoseconds> measured_lead_ns(const Trace& trace) noexcept;
// Where it was not read: by the time at which the trace says that it began.
Nanoseconds clock_lead_ns(const Trace& trace) noexcept;

// A zero for a trace that began at this wall-clock time: the same for traces of one month, so that the ranks of a job
// line up in tools that look at nothing else, and near enough that a double holds every nanosecond.
Nanoseconds export_base_ns(std::uint64_t start_realtime_ns) noexcept;

}  // namespace synctrace
