// SPDX-License-Identifier: Apache-2.0
// A trace file -> tables. An Error when the file cannot be used at all; damage inside a usable file, and losses that
// the recorder counted, are in Trace::stats. Memory is proportional to the records kept.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/loaded_trace.h"
#include "model/trace.h"

namespace synctrace {

Result<LoadedTrace> load_trace(const std::string& path);

// `name` stands for the path in messages and in the trace.
Result<Trace> load_trace_bytes(std::vector<std::byte> bytes, const std::string& name);

}  // namespace synctrace
