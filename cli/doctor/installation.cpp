// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks.h"
#include "doctor/loader_probe.h"

namespace synctrace::cli {
namespace {

constexpr int kProbeLimitMs = 10'000;

// The command needs nothing of this machine. What it records are programs of the GNU C library.
bool check_c_library(const Installation& installation, Checks& checks) {
  const ProbeAnswer answer = ask_probe(installation, {"c-library"}, kProbeLimitMs);
  if (answer.end == ProbeAnswer::End::kAnswered) {
    checks.push_back({"C library", Health::kOk, answer.text, {}});
    return true;
  }
  const bool missing = installation.probe.empty();
  checks.push_back({"C library", Health::kFail,
                    missing ? "no synctrace-probe beside " + installation.executable.string()
                            : installation.probe.string() + " does not start",
                    missing ? "Install synctrace again: nothing can be checked without that file."
                            : "Record where programs of glibc 2.28 or later run (not on musl, as in Alpine); reading "
                              "traces works here."});
  return false;
}

void check_recorder(const Installation& installation, Checks& checks) {
  const std::string library = installation.library.string();
  const ProbeAnswer loaded = ask_probe(installation, {"recorder", library}, kProbeLimitMs);
  Check check{"recorder", Health::kOk, library + " loads", {}};
  if (loaded.end != ProbeAnswer::End::kAnswered) {
    check = {"recorder", Health::kFail, library + " crashes or hangs when it is loaded",
             "Build synctrace again on this machine."};
  } else if (!loaded.text.empty()) {
    check = {"recorder", Health::kFail, "the recorder does not load: " + loaded.text,
             "Build synctrace again on this machine."};
  } else if (library.find_first_of(" :") != std::string::npos) {
    check = {"recorder", Health::kFail, "LD_PRELOAD cannot carry the path " + library,
             "Install synctrace in a folder without space and colon."};
  }
  checks.push_back(check);
}

}  // namespace

bool check_installation(const Installation& installation, Checks& checks) {
  const bool loads_libraries = check_c_library(installation, checks);
  if (installation.library.empty()) {
    checks.push_back(
        {"recorder", Health::kFail, "no libsynctrace.so beside " + installation.executable.string(),
         "Build synctrace where a CUDA toolkit is installed (CUDA_HOME); reading traces works without it."});
  } else if (loads_libraries) {
    check_recorder(installation, checks);
  }
  if (installation.simulated_gpu.empty()) {
    checks.push_back({"simulated GPU", Health::kNote, "not installed, so synctrace run --simgpu does not work",
                      add_simulated_gpu(installation)});
  } else {
    checks.push_back(
        {"simulated GPU", Health::kOk, installation.simulated_gpu.string() + " (synctrace run --simgpu)", {}});
  }
  return loads_libraries;
}

}  // namespace synctrace::cli
