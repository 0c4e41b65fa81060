// SPDX-License-Identifier: Apache-2.0
// The options of `synctrace try`, checked before anything starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "asked/stack_options.h"
#include "trial/program_output.h"
#include "trial/verdict.h"
#include "try/checkouts.h"

namespace synctrace::cli {

struct TryOptions {
  std::vector<std::string> commands[2];  // their words; with checkouts both are the same
  WantedStates states;
  bool has_states() const noexcept { return !states.patch.empty() || !states.refs.empty(); }

  std::optional<OutputPattern> step;
  bool is_rate = false;
  std::optional<OutputPattern> same;
  double tolerance = 0.0;
  TrialRule rule;
  std::int64_t limit_ns = 0;
  std::string limit;  // the words of limit_ns
  bool side_by_side = false;
  std::size_t fix = 0;  // 0: no prediction
  std::string trace;
  std::string record;
  std::string format = "text";
  std::string output;
  bool force_overwrite = false;
  StackOptions stacks;
};

// Either the options, or the exit status with which to end at once (help was printed, or an error worded).
struct ParsedTry {
  std::optional<TryOptions> options;
  int exit_status = 0;
};
ParsedTry parse_try_options(int argc, char** argv);

// The words that would be typed.
std::string command_text(const std::vector<std::string>& command);

}  // namespace synctrace::cli
