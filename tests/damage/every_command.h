// SPDX-License-Identifier: Apache-2.0
// Every command and format of the command line that reads a trace, in this process, with the processor time and memory
// that each one took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace synctrace::testing {

struct Cost {
  std::string command;  // without paths
  int status = 0;
  double cpu_seconds = 0;
  std::uint64_t peak_bytes = 0;    // the whole process's while it ran
  std::uint64_t output_bytes = 0;  // in all files that it wrote
};

// The words of each command line; "$T" stands for the trace, "$O" for the output.
const std::vector<std::vector<std::string>>& every_command();

// Runs one of them. Its exit status is that of the command line, or 255 and a word in `command` when it threw.
// `folder` is for its outputs, which are removed again.
Cost run_command(const std::vector<std::string>& words, const std::string& trace, const std::string& folder);

}  // namespace synctrace::testing
