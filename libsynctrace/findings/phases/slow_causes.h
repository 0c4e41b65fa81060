// SPDX-License-Identifier: Apache-2.0
// What irregular steps cost, and why they took longer than the others: what each cause costs one of them more.
#pragma once

#include <cstddef>
#include <vector>

#include "base/shares.h"
#include "findings/report/report.h"

namespace synctrace {

// Whether irregular steps take this share of the time of all steps behind the warm-up, or more.
bool are_irregular_steps_at_least(Share share, const StepsReport& steps) noexcept;

struct SlowCause {
  const IdleCause* cause = nullptr;
  Nanoseconds irregular_ns = 0;  // a step
  Nanoseconds ordinary_ns = 0;   // a step
};

// The causes that cost most more come first. They refer to the report.
std::vector<SlowCause> slow_causes(const Report& report, std::size_t most);

}  // namespace synctrace
