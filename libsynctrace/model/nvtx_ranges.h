// SPDX-License-Identifier: Apache-2.0
// NVTX's pushes, pops, starts and ends as ranges of time. O(events); what has no partner makes no range of its own.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/trace.h"

namespace synctrace {

// The domain in which a program says what its parts mean: findings/calls/surroundings.h.
inline constexpr std::string_view kAnnotationDomain = "synctrace";

struct NvtxRange {
  TimeSpan span;
  ThreadId thread{};  // the one that began it
  NvtxDomainId domain{};
  StringId text{};
  std::uint32_t depth = 0;  // how many ranges of its thread and domain are around a pushed one
  bool pushed = true;       // false: started and ended, and so free to overlap any other
  bool open = false;        // has no end in the trace, and lasts to the last time of it
};

// In the order of their begins; of those that begin together the outermost first.
std::vector<NvtxRange> nvtx_ranges(const Trace& trace);

}  // namespace synctrace
