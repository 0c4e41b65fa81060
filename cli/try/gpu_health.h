// SPDX-License-Identifier: Apache-2.0
// What happened to the GPUs during a trial that makes its times worth less.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace synctrace::cli {

// Sentences; `looks` are the lines of GpuWatch. None where nobody could look, or where the programs used no GPU.
std::vector<std::string> gpu_notes(std::string_view looks);

// The machine's GPUs, by the driver's own words: "NVIDIA H200".
std::vector<std::string> gpu_names();

}  // namespace synctrace::cli
