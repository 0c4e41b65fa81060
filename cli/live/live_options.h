// SPDX-License-Identifier: Apache-2.0
// What `start` and `stop` share: how the end of a window is told.
#pragma once

#include <optional>
#include <string>

#include "command_line.h"
#include "run/run_options.h"

namespace synctrace::cli {

struct LiveOptions {
  RunOptions run;  // what is made of the trace, as if `run` had recorded the window
  std::string report;
  bool no_compress = false;
};

void declare_live_options(const CommandLine& app, LiveOptions& options);

// One sentence when an option makes no sense.
std::optional<std::string> take_live_options(LiveOptions& options);

}  // namespace synctrace::cli
