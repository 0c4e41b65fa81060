// SPDX-License-Identifier: Apache-2.0
// What another tool recorded -> a trace of ours, with what it does not have stated as losses (docs/trace-format.md).
// Total on any file: what makes no sense is left out and counted, or the file is refused with one sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "exchange/text_input.h"
#include "model/trace.h"

namespace synctrace {

// Rows that a file may hold; more would not fit into memory.
inline constexpr std::uint64_t kMostImportedRows = 50'000'000;

// torch.profiler's JSON, packed or not. `name` stands for the file in messages.
Result<Trace> import_kineto(TextInput& input, const std::string& name);

// Nsight Systems' SQLite export. `process`: of several with CUDA calls the one that is wanted.
Result<Trace> import_nsys(const std::string& path, std::optional<std::uint32_t> process);

}  // namespace synctrace
