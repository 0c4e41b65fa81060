// SPDX-License-Identifier: Apache-2.0
// The first pass over several recordings: whether they are ranks of one job, and the summary of each rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "findings/job/job_findings.h"
#include "recordings/asking.h"

namespace synctrace {

enum class Together : std::uint8_t {
  kNot,  // each stands alone
  kOneJob,
  kSeveralJobs,  // each stands alone here too, but more could be said of fewer
};

struct FoundJob {
  Together together = Together::kNot;
  std::unique_ptr<JobFindings> findings;         // only of one job
  std::map<std::size_t, Error> errors;           // by number of the file: it cannot be read
  std::map<std::size_t, std::uint64_t> started;  // by number of the file, if it was read: Trace::start_realtime_ns
};

// Opens each file once at most; two are in memory at once. Most that are no job are left after a few.
FoundJob find_job_of(std::span<const std::string> files, const Asking& asking);

}  // namespace synctrace
