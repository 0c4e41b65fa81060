// SPDX-License-Identifier: Apache-2.0
// Lines that look guilty, because the host waits there, and whose change would gain nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "findings/report/report.h"

namespace synctrace {

enum class WhyLeave : std::uint8_t {
  kMoves,   // the host would wait elsewhere instead
  kNoFix,   // no change of it is known that keeps the results
  kNoGain,  // without it the steps would take as long
};

struct LeftLine {
  const SourceLine* where = nullptr;  // the report's
  WhyLeave why = WhyLeave::kNoGain;
  std::string moves_to;  // "train.py:93"; kMoves alone
  Nanoseconds host_blocked_ns = 0;
};

std::string_view why_leave_name(WhyLeave why) noexcept;  // for programs: "moves"

// Each has a number of a line. The longest wait comes first; there is none where nothing was predicted.
std::vector<LeftLine> lines_to_leave_alone(const Report& report);

}  // namespace synctrace
