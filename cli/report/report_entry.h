// SPDX-License-Identifier: Apache-2.0
// The text report of some traces, for `report` and for `run`, which prints it when the program has ended.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "asked/stack_options.h"
#include "findings/findings.h"

namespace synctrace::cli {

enum class ReportStyle : std::uint8_t { kNone, kShort, kFull };

// Writes the report to `out`. What went wrong is worded on stderr; the result is an exit status (exit_status.h).
int print_report(std::span<const std::string> files, ReportStyle style, const StackOptions& stacks,
                 const StepQuestion& steps, std::FILE* out);

}  // namespace synctrace::cli
