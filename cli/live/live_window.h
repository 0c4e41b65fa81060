// SPDX-License-Identifier: Apache-2.0
// Windows of programs that run: opened, closed, waited for, and their traces treated as `run` does.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "live/dormant_processes.h"
#include "run/run_options.h"

namespace synctrace::cli {

struct WindowRequest {
  std::int64_t length_ns = 0;  // 0: until it is closed
  std::int64_t begin_ns = 0;   // CLOCK_REALTIME; 0: at once, or several processes together in a moment
  std::string level;           // what is empty is as the recorder was told at its start
  std::string max_size;
  std::string output;  // an absolute pattern
  bool force_overwrite = false;
};

std::int64_t realtime_now_ns();

// Several processes begin together after this: by then each has been asked, and has loaded CUPTI.
inline constexpr std::int64_t kHeadStartNs = 2'000'000'000;

// Both word on stderr what a process refused, for the command `who`, and return the processes that did as they were
// asked, with their answers.
std::vector<DormantProcess> open_windows(std::span<const DormantProcess> processes, const WindowRequest& request,
                                         const char* who);
std::vector<DormantProcess> close_windows(std::span<const DormantProcess> processes, const char* who);

// Waits until no window of these is open any more, not much longer than windows that end in `until_end_ns`; a process
// that has ended has none. Calls `while_waiting` ten times a second.
void await_end(std::span<const DormantProcess> processes, std::int64_t until_end_ns,
               const std::function<void()>& while_waiting = {});

// Brings the traces of these windows to rest: names, compression, report. The result is an exit status.
int finish_windows(std::span<const DormantProcess> processes, const RunOptions& options, const char* who);

}  // namespace synctrace::cli
