// SPDX-License-Identifier: Apache-2.0
// Makes the history of a recording of what was concluded from it.
//
// Cost: O((parts + calls) log n) time. Memory goes with the rows that come out, of which there are at most a million
// for windows alone: a recording of months gets longer windows.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attribution/attribute.h"
#include "findings/history/job_exchanges.h"
#include "findings/history/run_history.h"
#include "findings/report/job_report.h"
#include "model/trace.h"

namespace synctrace {

struct HistoryOptions {
  std::string root;  // the repository's, for repository_path()
  // A rank of a job has the report about all ranks, its row there, and its operations with the others.
  const JobReport* job = nullptr;
  std::size_t rank = 0;
  std::vector<ExchangeRow> exchanges;
};

// `attribution` with its parts, `report` made of both.
RunHistory build_history(const Trace& trace, const Attribution& attribution, const Report& report,
                         const UserCode& user_code, const HistoryOptions& options);

// For tests: the length of windows for a trace of that span with so many GPUs.
Nanoseconds window_length_ns(Nanoseconds span_ns, std::size_t devices) noexcept;

}  // namespace synctrace
