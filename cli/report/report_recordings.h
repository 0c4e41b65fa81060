// SPDX-License-Identifier: Apache-2.0
// `report` of several processes, of a job of several ranks, or of one rank with what the others tell about it: what is
// reported and drawn of which recording.
#pragma once

#include <functional>
#include <vector>

#include "recordings/recordings.h"
#include "report/report_options.h"

namespace synctrace::cli {

// Writes reports, for a job with what is said of all ranks; the exit status.
using WriteReports = std::function<int(const std::vector<Report>& reports, const JobReport* job)>;

// Visits the recordings, which know already whether they are a job. `writes_page_alone`: nothing was asked for but the
// page. The exit status; what went wrong was said.
int report_recordings(Recordings& recordings, const ReportOptions& options, const ReportQuestion& question,
                      bool writes_page_alone, const WriteReports& write);

}  // namespace synctrace::cli
