// SPDX-License-Identifier: Apache-2.0
// What a user says of the program's steps, for all verbs that ask.
#pragma once

#include <optional>
#include <string>

#include "command_line.h"
#include "findings/findings.h"

namespace synctrace::cli {

CommandOption declare_step_range(const CommandLine& app, const std::string& name, std::string& range);
CommandOption declare_step_line(const CommandLine& app, std::string& line);
CommandOption declare_phase(const CommandLine& app, std::optional<int>& phase);

// One sentence when the trace has no such phase.
std::optional<std::string> missing_phase(const Report& report, const StepQuestion& question);
// One sentence when the trace has no steps of the kind that was asked for.
std::optional<std::string> missing_steps(const Report& report, const StepQuestion& question);

}  // namespace synctrace::cli
