// SPDX-License-Identifier: Apache-2.0
// Report -> comma-separated values (RFC 4180, one header line) for spreadsheets and scripts: one row for each cause of
// idle and of copy-only time, and one for each site that can wait or polls. Times are ns. Nothing in it is taken for a
// formula.
#pragma once

#include <span>
#include <string>

#include "findings/report/report.h"

namespace synctrace {

std::string render_csv(std::span<const Report> reports);

}  // namespace synctrace
