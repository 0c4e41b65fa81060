// SPDX-License-Identifier: Apache-2.0
// The first screen of a job of several ranks: who holds the others up, by which line, what changing it saves for all.
#pragma once

#include <string>

#include "findings/report/job_report.h"
#include "render/first_screen.h"

namespace synctrace {

std::string render_job(const JobReport& report, const ScreenOptions& options);

}  // namespace synctrace
