// SPDX-License-Identifier: Apache-2.0
// Enumerators of a trace as a reader sees them.
#pragma once

#include <string_view>

#include "model/trace.h"

namespace synctrace {

std::string_view direction_word(CopyKind kind) noexcept;  // "H2D"; empty when unknown
std::string_view memory_word(MemoryKind kind) noexcept;   // "pageable"; empty when unknown
std::string_view host_call_word(HostCall call) noexcept;  // "semaphore"
std::string_view sample_state_word(format::Sample::State state) noexcept;

// A fact of the trace that is a number; 0: it is not known.
std::size_t number_fact(const Trace& trace, std::string_view key) noexcept;

}  // namespace synctrace
