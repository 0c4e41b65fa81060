// SPDX-License-Identifier: Apache-2.0
// The lines that have to do with a rank's collectives: those that ask for them, and those for which the GPU stood still
// before them.
#pragma once

#include <cstdint>
#include <vector>

#include "code/user_frame.h"
#include "findings/report/report.h"
#include "ranks/rank_summary.h"

namespace synctrace {

struct UnitLines {
  std::vector<SourceLine> lines = {SourceLine()};  // the first: not known
  // Beside RankSummary::units, rows of `lines`.
  std::vector<std::uint32_t> launched;
  std::vector<std::uint32_t> drained;
  std::vector<std::uint32_t> held;
};

// `attribution` has kept its parts; the report is of the same trace.
UnitLines unit_lines(const Trace& trace, const Attribution& attribution, const RankSummary& rank, const Report& report,
                     const UserCode& user_code);

}  // namespace synctrace
