// SPDX-License-Identifier: Apache-2.0
// What all verbs do alike with CLI11: help goes to stdout, a mistake to stderr in one line.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

namespace synctrace::cli {

// Fills what `app`, named after its verb, was told to fill. A value is the exit status with which to end at once.
std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv);

}  // namespace synctrace::cli
