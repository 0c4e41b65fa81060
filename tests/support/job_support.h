// SPDX-License-Identifier: Apache-2.0
// Played jobs loaded and summarised, for tests.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attribution/attribute.h"
#include "model/load_trace.h"
#include "ranks/job.h"
#include "support/generator/job.h"

namespace synctrace::testing::generator {

inline RankSummary summary_of(std::vector<std::byte> bytes, const std::string& name = "rank.synctrace") {
  Result<Trace> loaded = load_trace_bytes(std::move(bytes), name);
  if (!loaded) throw std::runtime_error(loaded.error().message);
  const Trace trace = std::move(loaded).value();
  return summarize_rank(trace, attribute(trace));
}

inline std::unique_ptr<const Job> job_of(const JobRun& run) {
  std::vector<RankSummary> ranks;
  for (const std::vector<std::byte>& bytes : run.traces) ranks.push_back(summary_of(bytes));
  return std::make_unique<const Job>(std::move(ranks));
}

}  // namespace synctrace::testing::generator
