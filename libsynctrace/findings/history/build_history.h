// SPDX-License-Identifier: Apache-2.0
// Makes the history of a recording of what was concluded from it.
//
// Cost: O((parts + calls) log n) time. Memory goes with the rows that come out, of which there are at most a million
// for windows alone: a recording of months gets longer windows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attribution/attribute.h"
#include "findings/history/job_exchanges.h"
#include "findings/history/run_history.h"
#include "findings/history/site_book.h"
#include "findings/report/job_report.h"
#include "model/trace.h"

namespace synctrace {

struct HistoryOptions {
  std::string root;                                   // the repository's, for repository_path()
  std::optional<std::vector<ExchangeRow>> exchanges;  // a rank's with the others of its job
};

// All of a history but what only the ranks of a job tell together. Owns its texts: the trace may go.
class HistoryDraft {
 public:
  HistoryDraft(RunHistory history, SiteBook sites) : history_(std::move(history)), sites_(std::move(sites)) {}

  // Once. `job`: the report about all ranks, if it is one; `rank`: its row there.
  RunHistory finish(const JobReport* job = nullptr, std::size_t rank = 0);

 private:
  RunHistory history_;
  SiteBook sites_;  // the rows that windows refer to
};

// `attribution` with its parts, `report` made of both.
HistoryDraft draft_history(const Trace& trace, const Attribution& attribution, const Report& report,
                           const UserCode& user_code, const HistoryOptions& options);

// For tests: the length of windows for a trace of that span with so many GPUs.
Nanoseconds window_length_ns(Nanoseconds span_ns, std::size_t devices) noexcept;

}  // namespace synctrace
