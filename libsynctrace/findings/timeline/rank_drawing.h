// SPDX-License-Identifier: Apache-2.0
// What a timeline shows of a process because it is one rank of a job: its operations with the others, each in its
// waiting and its transfer, and where its clock stands among theirs. Times are on the rank's own clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time_span.h"
#include "findings/timeline/slice_names.h"
#include "ranks/rank_clocks.h"

namespace synctrace::page {

struct ExchangePart {
  TimeSpan span;
  DeviceId device{};
  SliceKind kind = SliceKind::kExchange;
  std::uint32_t name = 0;  // row of RankDrawing::names
};

struct ExchangeName {
  std::string operation;  // "AllReduce"
  std::string waits_for;  // label of a rank; empty: none, or it is not known
};

struct RankDrawing {
  std::string label;                // of the rank
  std::vector<ExchangePart> parts;  // by begin
  std::vector<ExchangeName> names;
  RankClock clock;
  TimeSpan
      typical;      // from when it was free for an operation that the others waited for it at, to the end; may be empty
  TimeSpan wanted;  // a stretch that is worth every slice, as other ranks show it; may be empty
};

}  // namespace synctrace::page
