// SPDX-License-Identifier: Apache-2.0
// What `run` does once the program has ended: traces get their final names, become smaller, are reported, and the last
// line says where they are and what to type next. Everything goes to stderr: stdout was the program's.
#pragma once

#include "run_options.h"
#include "trace_manifest.h"

namespace synctrace::cli {

void finish_run(const RunOptions& options, const TraceManifest& manifest);

}  // namespace synctrace::cli
