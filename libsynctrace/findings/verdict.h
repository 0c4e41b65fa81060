// SPDX-License-Identifier: Apache-2.0
// One line about what binds a program: the sort of cause that keeps the GPU idle most, or the GPU itself.
#pragma once

#include <span>
#include <string_view>

#include "findings/report.h"
#include "steps/steps.h"

namespace synctrace {

// Of the device with the most work. Judged by the steps without the warm-up where there are any, else by the time from
// the first to the last work. Of a few kernels there is none, and `evidence` says so. `report` has its devices' causes.
VerdictLine verdict_of(const Report& report, const Steps& steps);

// All that VerdictLine::word can be, but none.
std::span<const std::string_view> verdict_words() noexcept;

}  // namespace synctrace
