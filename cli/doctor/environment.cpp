// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "contract/launch_contract.h"
#include "contract/output_pattern.h"
#include "doctor/checks.h"

namespace synctrace::cli {
namespace {

struct Meaning {
  const char* variable;
  const char* harmless;  // a value that means nothing; null when every value counts
  Health health;
  const char* means;
  const char* advice;
};

constexpr std::array kMeanings = {
    Meaning{"CUDA_INJECTION64_PATH", "none", Health::kWarn,
            "another tool is loaded into every CUDA program, and only one can record",
            "Unset it for a run under synctrace."},
    Meaning{"NVTX_INJECTION64_PATH", nullptr, Health::kWarn,
            "another tool gets the NVTX ranges; if it is libcupti, it takes the only subscription",
            "Unset it for a run under synctrace."},
    Meaning{"NSYS_PROFILING_SESSION_ID", nullptr, Health::kWarn, "this shell runs under Nsight Systems",
            "Start synctrace outside nsys."},
    Meaning{"NV_NSIGHT_INJECTION_PORT_BASE", nullptr, Health::kWarn, "this shell runs under Nsight Compute",
            "Start synctrace outside ncu."},
    Meaning{"CUDA_LAUNCH_BLOCKING", "0", Health::kWarn, "every launch waits for the GPU, which hides all other waits",
            "Unset it to see how the program really behaves."},
    Meaning{"TEARDOWN_CUPTI", "0", Health::kWarn, "torch.profiler ends CUPTI for everybody when it stops",
            "Unset it, or do not profile with torch under synctrace."},
    Meaning{"CUDA_VISIBLE_DEVICES", nullptr, Health::kNote, "limits the GPUs that programs see", ""},
    Meaning{"LD_PRELOAD", "", Health::kNote, "stays in place behind the recorder", ""},
};

void check_own_variables(Checks& checks) {
  constexpr std::string_view kPrefix = "SYNCTRACE_";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view whole = *entry;
    if (!whole.starts_with(kPrefix)) continue;
    const std::string_view name = whole.substr(0, whole.find('='));
    const bool known = std::find(std::begin(format::kKnownVariables), std::end(format::kKnownVariables), name) !=
                       std::end(format::kKnownVariables);
    checks.push_back({"environment", known ? Health::kNote : Health::kWarn,
                      std::string(whole) + (known ? "" : ": there is no such variable"),
                      known ? "" : "man synctrace-run lists them."});
  }
}

}  // namespace

void check_environment(Checks& checks) {
  for (const Meaning& meaning : kMeanings) {
    const char* value = std::getenv(meaning.variable);
    if (value == nullptr || (meaning.harmless != nullptr && std::string_view(value) == meaning.harmless)) continue;
    checks.push_back({"environment", meaning.health, std::string(meaning.variable) + "=" + value + ": " + meaning.means,
                      meaning.advice});
  }
  check_own_variables(checks);
  const format::Rank rank = format::detect_rank(environ);
  if (rank.known()) {
    checks.push_back({"rank",
                      Health::kNote,
                      std::to_string(rank.rank) +
                          (rank.world_size < 0 ? "" : " of " + std::to_string(rank.world_size)) + ", says " +
                          format::describe(rank.source),
                      {}});
  }
}

}  // namespace synctrace::cli
