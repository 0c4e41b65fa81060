// SPDX-License-Identifier: Apache-2.0
// Talks to libcuda through synctrace-probe: the command line is built and run on machines without CUDA.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "doctor/checks.h"
#include "doctor/loader_probe.h"

namespace synctrace::cli {
namespace {

constexpr int kDriverLimitMs = 30'000;  // a first cuInit on a machine with many GPUs takes seconds

// "580.159.03" out of the kernel module's own words; empty when it is not loaded.
std::string kernel_driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  }
  return {};
}

// The first whose programs of CUDA 12 run on it: before, no libcupti of 12 or 13 works.
constexpr double kOldestCuda = 12.0;

void check_age(double cuda, Checks& checks) {
  if (cuda >= kOldestCuda) return;
  checks.push_back({"driver", Health::kFail, "too old: libcupti 12 and 13 need a driver for CUDA 12.0 or later",
                    "Update the driver: 525.60 or later for CUDA 12, 580 or later for CUDA 13."});
}

void check_slice(const std::string& name, Checks& checks) {
  if (name.find(" MIG ") == std::string::npos) return;
  checks.push_back({"MIG", Health::kNote, "a slice of a GPU: what others do on its other slices is not seen",
                    "Compare only runs on slices of one size."});
}

double add_driver_answer(const std::string& text, const std::string& kernel_version, const std::string& instead,
                         Checks& checks) {
  std::istringstream lines(text);
  std::string kind;
  std::string rest;
  int gpus = 0;
  double cuda = 0;
  bool failed = false;
  while (lines >> kind && std::getline(lines >> std::ws, rest)) {
    if (kind == "driver") {
      std::string finding = kernel_version.empty() ? "" : kernel_version + ", ";
      finding.append("for programs up to CUDA ").append(rest);
      checks.push_back({"driver", Health::kOk, finding, {}});
      cuda = std::strtod(rest.c_str(), nullptr);
      check_age(cuda, checks);
    } else if (kind == "gpu") {
      checks.push_back({"GPU " + std::to_string(gpus++), Health::kOk, rest, {}});
      check_slice(rest, checks);
    } else {
      failed = true;
      checks.push_back(
          {"driver", Health::kFail, rest, "Other CUDA programs fail alike: repair the driver first." + instead});
    }
  }
  if (gpus > 0 || failed) return cuda;
  checks.push_back({"GPU", Health::kFail, "the driver shows no GPU",
                    "Look at CUDA_VISIBLE_DEVICES, and in a container at --gpus." + instead});
  return cuda;
}

}  // namespace

bool is_driver_here(const Installation& installation) {
  if (!kernel_driver_version().empty()) return true;
  const ProbeAnswer answer = ask_probe(installation, {"driver-library"}, kDriverLimitMs);
  return answer.end != ProbeAnswer::End::kAnswered || !answer.text.empty();
}

double check_gpu(const Installation& installation, Checks& checks) {
  const std::string instead = installation.simulated_gpu.empty() ? "" : " Without a GPU: synctrace run --simgpu.";
  const std::string kernel_version = kernel_driver_version();
  const ProbeAnswer answer = ask_probe(installation, {"driver"}, kDriverLimitMs);
  if (answer.end == ProbeAnswer::End::kTimedOut) {
    checks.push_back({"driver", Health::kFail, "libcuda.so.1 does not answer", "Repair the driver first." + instead});
  } else if (answer.end == ProbeAnswer::End::kCrashed) {
    checks.push_back(
        {"driver", Health::kFail, "libcuda.so.1 crashes when it is used", "Repair the driver first." + instead});
  } else if (answer.text == "missing" && kernel_version.empty()) {
    checks.push_back({"driver", Health::kFail, "no NVIDIA driver here", "Run it where there is a GPU." + instead});
  } else if (answer.text == "missing") {
    checks.push_back(
        {"driver", Health::kFail, "the kernel has driver " + kernel_version + ", but libcuda.so.1 is not found",
         "In a container, start it with the NVIDIA runtime (--gpus all); else install the driver's libraries." +
             instead});
  } else {
    return add_driver_answer(answer.text, kernel_version, instead, checks);
  }
  return 0;
}

}  // namespace synctrace::cli
