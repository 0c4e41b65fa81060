// SPDX-License-Identifier: Apache-2.0
#include "try/gpu_health.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/quantity_text.h"
#include "base/shares.h"
#include "run/gpu_looks.h"

namespace synctrace::cli {
namespace {

constexpr Share kWorthSaying = percent(2);

}  // namespace

std::vector<std::string> gpu_notes(std::string_view looks) {
  Nanoseconds all_ns = 0;
  Nanoseconds others_ns = 0;
  Nanoseconds power_ns = 0;
  Nanoseconds thermal_ns = 0;
  for (const WatchedGpu& gpu : read_gpu_looks(looks, {})) {
    if (!gpu.is_used) continue;
    for (const format::GpuUse& use : gpu.uses) {
      all_ns += static_cast<Nanoseconds>(use.duration_ns);
      others_ns += static_cast<Nanoseconds>(use.others_ns);
      power_ns += static_cast<Nanoseconds>(use.power_ns);
      thermal_ns += static_cast<Nanoseconds>(use.thermal_ns);
    }
  }
  std::vector<std::string> notes;
  const auto say = [&](Nanoseconds part_ns, const std::string& what) {
    if (all_ns > 0 && ratio(part_ns, all_ns) >= kWorthSaying)
      notes.push_back(what + " for " + share_text(part_ns, all_ns) + " of the time.");
  };
  say(others_ns, "Another process used the GPU");
  say(power_ns, "The GPU's clocks were held down to save power");
  say(thermal_ns, "The GPU's clocks were held down by heat");
  return notes;
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", failed)) {
    std::ifstream file(gpu.path() / "information");
    for (std::string line; std::getline(file, line);) {
      constexpr std::string_view kModel = "Model:";
      if (!line.starts_with(kModel)) continue;
      const std::size_t begin = line.find_first_not_of(" \t", kModel.size());
      names.push_back(begin == std::string::npos ? "" : line.substr(begin));
    }
  }
  return names;
}

}  // namespace synctrace::cli
