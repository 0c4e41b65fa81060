// SPDX-License-Identifier: Apache-2.0
// A rank's operations with others, one by one: what each took, and what of it was waiting, and for whom.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time_span.h"
#include "ranks/job.h"

namespace synctrace {

struct ExchangeRow {
  TimeSpan span;                   // its kernels, on the rank's own clock
  std::uint64_t communicator = 0;  // the same number on all its ranks; 0: not known
  std::string operation;
  std::uint64_t bytes = 0;
  Nanoseconds wait_ns = 0;
  std::int64_t late_rank = -1;  // the launcher's number; -1: none, or it is not known which
  bool is_split = false;        // else it is not known what of it is waiting
};

// Returns the exchanges of a rank of a job, by its row.
std::vector<ExchangeRow> exchanges_of(const Job& job, std::uint32_t rank);

// Returns the exchanges of a process whose others are not known.
std::vector<ExchangeRow> exchanges_of(const RankSummary& alone);

}  // namespace synctrace
