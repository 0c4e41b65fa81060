// SPDX-License-Identifier: Apache-2.0
// The parts of this installation, found from where the executable lies: no configured prefix, so a build folder, an
// installed copy and an unpacked archive all work.
#pragma once

#include <filesystem>
#include <string>

namespace synctrace::cli {

struct Installation {
  std::filesystem::path executable;
  std::filesystem::path library;        // libsynctrace.so; empty when there is none
  std::filesystem::path probe;          // synctrace-probe, which loads libraries for `doctor`; empty when there is none
  std::filesystem::path simulated_gpu;  // folder of the simulated GPU; empty when there is none
};

Installation find_installation();

// What to type where the simulated GPU is missing.
std::string add_simulated_gpu(const Installation& installation);

}  // namespace synctrace::cli
