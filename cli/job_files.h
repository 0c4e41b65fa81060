// SPDX-License-Identifier: Apache-2.0
// Several trace files that are one job of several ranks.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "asked_names.h"
#include "findings/findings.h"
#include "findings/job/job_findings.h"

namespace synctrace::cli {

struct JobFiles {
  std::unique_ptr<JobFindings> findings;
  JobReport report;
  std::vector<std::string> ranks;   // the file of each rank, by its row in the report
  std::vector<std::string> others;  // files that can be read and are of no rank
  std::size_t unreadable = 0;
};

// Nothing: the files are not one job. Files that cannot be read are worded on stderr by `who` and left out.
std::optional<JobFiles> load_job(std::span<const std::string> files, const FindingsOptions& options,
                                 const AskedNames& names, std::string_view who);

// The same without the lines that made ranks late: each file is read once.
std::optional<JobFiles> join_job(std::span<const std::string> files, const FindingsOptions& options,
                                 std::string_view who);

}  // namespace synctrace::cli
