// SPDX-License-Identifier: Apache-2.0
// Several trace files that are one job of several ranks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "asked_names.h"
#include "findings/findings.h"
#include "findings/job/job_report.h"

namespace synctrace::cli {

struct JobFiles {
  JobReport report;
  std::size_t unreadable = 0;
};

// Nothing: the files are not one job. Files that cannot be read are worded on stderr by `who` and left out.
std::optional<JobFiles> load_job(std::span<const std::string> files, const FindingsOptions& options,
                                 const AskedNames& names, std::string_view who);

}  // namespace synctrace::cli
