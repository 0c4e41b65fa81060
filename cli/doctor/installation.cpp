// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include "doctor/checks.h"
#include "names/guarded_probe.h"

namespace synctrace::cli {
namespace {

constexpr int kLoadLimitMs = 10'000;

void check_recorder(const std::string& library, Checks& checks) {
  const ProbeAnswer loaded = run_guarded(
      [&]() -> std::string {
        void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) return dlerror();
        return dlsym(handle, "InitializeInjection") != nullptr ? "" : library + " has no InitializeInjection";
      },
      kLoadLimitMs);
  Check check{"recorder", Verdict::kOk, library + " loads", {}};
  if (loaded.end != ProbeAnswer::End::kAnswered) {
    check = {"recorder", Verdict::kFail, library + " crashes or hangs when it is loaded",
             "Build synctrace again on this machine."};
  } else if (!loaded.text.empty()) {
    check = {"recorder", Verdict::kFail, "the recorder does not load: " + loaded.text,
             "Build synctrace again on this machine."};
  } else if (library.find_first_of(" :") != std::string::npos) {
    check = {"recorder", Verdict::kFail, "LD_PRELOAD cannot carry the path " + library,
             "Install synctrace in a folder without space and colon."};
  }
  checks.push_back(check);
}

}  // namespace

void check_installation(const Installation& installation, Checks& checks) {
  if (installation.library.empty()) {
    checks.push_back(
        {"recorder", Verdict::kFail, "no libsynctrace.so beside " + installation.executable.string(),
         "Build synctrace where a CUDA toolkit is installed (CUDA_HOME); reading traces works without it."});
  } else {
    check_recorder(installation.library.string(), checks);
  }
  if (installation.simulated_gpu.empty()) {
    checks.push_back({"simulated GPU", Verdict::kNote, "not installed; synctrace run --simgpu will not work", {}});
  } else {
    checks.push_back(
        {"simulated GPU", Verdict::kOk, installation.simulated_gpu.string() + " (synctrace run --simgpu)", {}});
  }
}

}  // namespace synctrace::cli
