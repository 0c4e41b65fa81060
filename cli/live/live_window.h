// SPDX-License-Identifier: Apache-2.0
// What `start` and `stop` do once windows are open: wait for their ends, and treat their traces as `run` does.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "live/dormant_processes.h"
#include "run/run_options.h"

namespace synctrace::cli {

// Sends `request` to all and words what each of them refused. Returns the processes that did as they were asked, with
// their answers.
std::vector<DormantProcess> request_all(std::span<const DormantProcess> processes, const std::string& request,
                                        const char* who);

// Waits until no window of these is open any more, at most `patience_s`; a process that has ended has none. Calls
// `while_waiting` ten times a second.
void await_end(std::span<const DormantProcess> processes, double patience_s,
               const std::function<void()>& while_waiting);

// Brings the traces of these windows to rest: names, compression, report. The result is an exit status.
int finish_windows(std::span<const DormantProcess> processes, RunOptions& options, const char* who);

}  // namespace synctrace::cli
