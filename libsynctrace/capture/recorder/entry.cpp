// SPDX-License-Identifier: Apache-2.0
// The doors of the library: the loader's constructor (LD_PRELOAD), the CUDA driver's InitializeInjection
// (CUDA_INJECTION64_PATH), and NVTX's InitializeInjectionNvtx2 and InitializeInjectionNvtxExtension. The only other
// exported symbols (exports.map) are the blocking calls of host_waits_threads, _files and _syscall, and sigaltstack.
#include <cstdint>

#include "capture/nvtx/nvtx_handler.h"
#include "capture/recorder/recorder.h"
#include "capture/waits/host_waits_bind.h"

namespace {

__attribute__((constructor)) void on_load() {
  synctrace::capture::bind_thread_calls();
  synctrace::capture::bind_file_calls();
  synctrace::capture::bind_syscall();
  synctrace::capture::bind_signal_stack_call();
  synctrace::capture::recorder.prepare_process();
}

__attribute__((destructor)) void on_unload() { synctrace::capture::recorder.say_if_missed(); }

}  // namespace

// Called by the CUDA driver at the process's first CUDA call. Non-zero is success; there is no failure that the
// program should hear of.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  synctrace::capture::recorder.start();
  return 1;
}

// Called by each library with NVTX inside, at its first NVTX call.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    const void* (*get_export_table)(std::uint32_t)) {
  return synctrace::capture::install_nvtx_handlers(get_export_table);
}

// The same for each library that uses NVTX's extensions: `module` is a nvtxExtModuleInfo_t.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(void* module) {
  return synctrace::capture::install_nvtx_payload_handlers(module);
}
