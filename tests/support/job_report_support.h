// SPDX-License-Identifier: Apache-2.0
// Played jobs as the reports that are made of them, for tests.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "findings/job/job_findings.h"
#include "model/load_trace.h"
#include "support/catch.h"
#include "support/generator/job.h"

namespace synctrace::testing::generator {

// Explains one more rank. `change`, where given, is made to its trace first.
inline const Findings& findings_of_rank(const std::vector<std::byte>& bytes, std::deque<Findings>& ranks,
                                        const std::function<void(Trace&)>& change = {}) {
  LoadedTrace loaded{std::move(load_trace_bytes(bytes, "rank.synctrace")).value(), {}};
  if (change) change(loaded.trace);
  return ranks.emplace_back(std::move(loaded), FindingsOptions{{}, {}, true});
}

inline JobReport report_of(const JobRun& run, const std::function<void(Trace&)>& change = {}, bool with_sets = false) {
  std::deque<Findings> ranks;
  JobFindings job;
  for (std::size_t i = 0; i < run.traces.size(); ++i) {
    job.summarize(i, findings_of_rank(run.traces[i], ranks, change));
  }
  REQUIRE(job.join());
  for (const std::size_t file : job.to_examine()) job.examine(file, ranks[file], ranks[file].report());
  return job.report(with_sets);
}

}  // namespace synctrace::testing::generator
