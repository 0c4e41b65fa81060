// SPDX-License-Identifier: Apache-2.0
// One line about what binds a program: the sort of cause that keeps the GPU idle most, or the GPU itself.
#pragma once

#include <span>
#include <string_view>

#include "findings/report/report.h"
#include "steps/steps.h"

namespace synctrace {

// Judges the device with the most work: by the steps without the warm-up where there are any, else by the time from the
// first to the last work. A few kernels have no verdict, and `evidence` says so. `report` has its devices' causes.
VerdictLine verdict_of(const Report& report, const Steps& steps);

// All that VerdictLine::word can be, but none.
std::span<const std::string_view> verdict_words() noexcept;

}  // namespace synctrace
