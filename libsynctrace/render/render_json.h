// SPDX-License-Identifier: Apache-2.0
// Report -> JSON, the part of a report that scripts rely on. Times are integers in ns; what was not judged is null,
// never a guess. Fields may be added; none is removed or changes its meaning within a schema_version.
#pragma once

#include <span>
#include <string>

#include "findings/report/job_report.h"
#include "findings/report/report.h"

namespace synctrace {

// {"schema_version", "simulated", "processes": [report...]}, for one process and for several.
// A job has "job" and "ranks" too.
std::string render_json(std::span<const Report> reports, const JobReport* job = nullptr);

}  // namespace synctrace
