// SPDX-License-Identifier: Apache-2.0
// What `run` does once the program has ended: traces get their final names, become smaller, are reported, and the last
// line says where they are and what to type next. Everything goes to stderr: stdout was the program's.
#pragma once

#include <string>
#include <vector>

#include "run/run_options.h"
#include "run/trace_manifest.h"

namespace synctrace::cli {

struct FinishedRun {
  std::vector<std::string> traces;  // the ones that can be read
  std::size_t announced = 0;        // also those that cannot
};
// `gpu_looks`: what was seen of the GPUs meanwhile (gpu_watch.h).
FinishedRun finish_run(const RunOptions& options, const std::vector<std::string>& announced,
                       const std::string& gpu_looks);

// What `run --gate` ends with: an exit status.
int judge_run(const RunOptions& options, const PreparedGate& gate, const FinishedRun& run);

}  // namespace synctrace::cli
