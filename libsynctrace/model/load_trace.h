// SPDX-License-Identifier: Apache-2.0
// A trace file -> tables. An Error when the file cannot be used at all; damage inside a usable file, and losses that
// the recorder counted, are in Trace::stats. Memory is proportional to the records kept.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/outstanding.h"
#include "model/trace.h"

namespace synctrace {

// `joins` receives those that the check of the clocks has made, if they hold for the trace as it is returned.
Result<Trace> load_trace(const std::string& path, std::optional<Joins>* joins = nullptr);

// `name` stands for the path in messages and in the trace.
Result<Trace> load_trace_bytes(std::vector<std::byte> bytes, const std::string& name);

}  // namespace synctrace
