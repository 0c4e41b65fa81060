// SPDX-License-Identifier: Apache-2.0
// The calls that are documented or measured to wait for the GPU. The trace decides; this table is the prior, and all
// there is where no GPU timeline was recorded. Measured on an H200 with a kernel in flight (docs/attribution.md).
#pragma once

#include <cstdint>

#include "model/trace.h"

namespace synctrace {

enum class WaitHabit : std::uint8_t {
  kUnknown,   // a function the table does not know
  kNever,     // may take long, but not for the GPU
  kMayWait,   // waits for work issued before, depending on streams and memory
  kExplicit,  // waiting is what it is for
};

WaitHabit wait_habit(const Call& call) noexcept;

// Waits by what it is, or copies to the host: compiled code and CUDA graphs end before it.
bool fits_no_graph(const Call& call) noexcept;

bool is_copy(ApiCategory category) noexcept;
bool goes_to_host(CopyKind kind) noexcept;
bool comes_from_host(CopyKind kind) noexcept;

// The memory kind on the host's side of a copy; unknown for a copy without one.
MemoryKind host_memory(CopyKind kind, MemoryKind source, MemoryKind target) noexcept;

}  // namespace synctrace
