// SPDX-License-Identifier: Apache-2.0
// What a short window of a program showed, in the figures that rules are about.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "findings/report/report.h"

namespace synctrace {

struct Look {
  double time_s = 0.0;                 // by any clock that goes on
  double length_s = 0.0;               // how long the look was
  std::optional<double> step_ms;       // the mean of ordinary steps; nothing where no steps were found
  std::optional<double> idle_percent;  // the GPU's
  std::optional<double> launches_per_s;
  std::optional<double> waits_per_s;                        // calls of the host that waited for the GPU
  std::optional<double> collectives_per_s;                  // operations of NCCL
  std::map<std::string, double, std::less<>> ranges_per_s;  // NVTX's, by name; digits that differ are '#'
  std::map<std::string, double, std::less<>>
      calls_per_s;  // CUDA's, by line; with GPU records all launches, too, as one line
};

// The figures of several ranks stand together, one of each; what most ranks do does not hide what one does.
std::vector<Look> looks_of(std::span<const Report> reports, double time_s);

}  // namespace synctrace
