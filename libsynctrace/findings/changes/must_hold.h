// SPDX-License-Identifier: Apache-2.0
// What must stay true when a change is made, so that the program computes the same: a trace cannot see it, so whoever
// makes the change looks.
#pragma once

#include <string_view>

#include "findings/report/job_report.h"
#include "findings/report/savings.h"

namespace synctrace {

// One or two sentences.
std::string_view must_hold(const Remedy& remedy) noexcept;
std::string_view must_hold(const JobCause& cause) noexcept;
std::string_view must_hold(const JobPattern& pattern) noexcept;

}  // namespace synctrace
