// SPDX-License-Identifier: Apache-2.0
// Tables -> a trace file of ours, so that what another tool recorded goes the same way as our own recordings. Written
// in chunks, one in memory at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "model/trace.h"

namespace synctrace {

using ByteSink = std::function<void(std::span<const std::byte>)>;

// All of the trace that a file can hold, closed in order; counters of Trace::stats become loss records. load_trace()
// makes the same tables of it. Texts over format::kMaxTextBytes are cut, stacks at a frame.
void write_trace(const Trace& trace, const ByteSink& sink);

}  // namespace synctrace
