// SPDX-License-Identifier: Apache-2.0
// `report` of a job of several ranks: what is said of all of them, or of one with what the others tell about it.
#pragma once

#include <functional>
#include <vector>

#include "job_files.h"
#include "load_reports.h"
#include "report_options.h"

namespace synctrace::cli {

// Writes reports, of a job with what is said of all ranks; the exit status.
using WriteReports = std::function<int(const std::vector<Report>& reports, const JobReport* job)>;

// `writes_page_alone`: nothing was asked for but the page. The exit status; what went wrong was said.
int report_job(const JobFiles& job, const ReportOptions& options, const Asked& asked, bool writes_page_alone,
               const WriteReports& write);

}  // namespace synctrace::cli
