// SPDX-License-Identifier: Apache-2.0
// What the commands about running programs share: which ones are meant, and how the end of a window is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command_line.h"
#include "live/dormant_processes.h"
#include "run/run_options.h"

namespace synctrace::cli {

struct LiveOptions {
  RunOptions run;  // what is made of the trace, as if `run` had recorded the window
  std::string report;
  bool no_compress = false;
};

// The word that says which programs are meant.
void declare_processes(const CommandLine& app, std::string& named);

// These programs. None, and the reason on stderr for the command `who`, where there is none.
std::vector<DormantProcess> find_processes(const std::string& named, const char* who);

// One sentence where the text of the option is no duration, or none above zero unless `may_be_zero`.
std::optional<std::string> take_duration(const char* option, const std::string& text, std::int64_t& result_ns,
                                         bool may_be_zero = false);

// What is recorded, as for `run`. GPU work only where it is asked for: CUPTI cannot end that without harm, so that its
// price stays until the program ends (docs/decisions/0048).
inline constexpr const char* kWaitsAlone = "syncs";
inline constexpr const char* kGpuToo = "timeline";
void declare_level(const CommandLine& app, std::string& level);

// Said where it was.
inline constexpr const char* kRecordsStay = "CUPTI goes on recording GPU work in it (man synctrace-start, COST)";

void declare_live_options(const CommandLine& app, LiveOptions& options);

// One sentence when an option makes no sense.
std::optional<std::string> take_live_options(LiveOptions& options);

}  // namespace synctrace::cli
