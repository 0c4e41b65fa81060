// SPDX-License-Identifier: Apache-2.0
// Played jobs as the reports that are made of them, for tests.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "findings/job/job_findings.h"
#include "model/load_trace.h"
#include "support/catch.h"
#include "support/generator/job.h"

namespace synctrace::testing::generator {

// `change`, where given, is made to each trace first.
inline JobReport report_of(const JobRun& run, const std::function<void(Trace&)>& change = {}) {
  std::vector<Trace> traces;
  JobFindings findings;
  for (std::size_t i = 0; i < run.traces.size(); ++i) {
    traces.push_back(std::move(load_trace_bytes(run.traces[i], "rank.synctrace")).value());
    if (change) change(traces.back());
    findings.summarize(i, traces.back(), {}, {});
  }
  REQUIRE(findings.join());
  for (const std::size_t file : findings.to_look_at()) findings.look_at(file, traces[file], {}, {});
  return findings.report();
}

}  // namespace synctrace::testing::generator
