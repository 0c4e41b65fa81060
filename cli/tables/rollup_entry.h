// SPDX-License-Identifier: Apache-2.0
// Traces as rows of a dataset, for `rollup` and for `run`, which writes them when the program has ended.
#pragma once

#include <string>
#include <vector>

#include "asked/stack_options.h"

namespace synctrace::cli {

struct RollupOptions {
  std::string output;  // the dataset
  std::string job;     // empty: as the launcher names it
  std::string commit;
  std::string root;    // absolute, or empty: the program's folder
  std::string gauges;  // a file for Prometheus; empty: none
  bool no_source = false;
  bool force_overwrite = false;
};

// What was done and what went wrong is said for `who`; the result is an exit status (exit_status.h).
int rollup_traces(const std::vector<std::string>& files, const RollupOptions& options, const StackOptions& stacks,
                  const char* who);

// Likewise the record of `synctrace try`, a file, as the table `trials`.
int rollup_trials(const std::string& record, const RollupOptions& options, const char* who);

}  // namespace synctrace::cli
