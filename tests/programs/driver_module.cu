// SPDX-License-Identifier: Apache-2.0
// The driver API without the runtime: a module made from PTX at run time, launches, copies and waits. libcuda is loaded
// by name; exit status 77 (skipped) where there is none, as on the simulated GPU.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr const char* kPtx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry nop() { ret; }
)";

void* g_library;

template <class Function>
Function* symbol(const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(g_library, name));
}

void check_driver(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(status));
  std::exit(1);
}

}  // namespace

#define SYNCTRACE_TEXT_(name) #name
#define SYNCTRACE_TEXT(name) SYNCTRACE_TEXT_(name)
#define DRIVER(name, ...) check_driver(symbol(SYNCTRACE_TEXT(name), &name)(__VA_ARGS__), #name)

int main() {
  g_library = dlopen("libcuda.so.1", RTLD_NOW);
  if (g_library == nullptr) {
    std::fprintf(stderr, "no libcuda.so.1: skipped\n");
    return 77;
  }
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  CUstream stream;
  CUdeviceptr memory;
  DRIVER(cuInit, 0);
  DRIVER(cuDeviceGet, &device, 0);
  DRIVER(cuDevicePrimaryCtxRetain, &context, device);
  DRIVER(cuCtxSetCurrent, context);
  DRIVER(cuModuleLoadData, &module, kPtx);
  DRIVER(cuModuleGetFunction, &function, module, "nop");
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  DRIVER(cuMemAlloc, &memory, 4096);
  int value = 7;
  for (int i = 0; i < 20; ++i) {
    DRIVER(cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
    DRIVER(cuStreamSynchronize, stream);
    DRIVER(cuMemcpyHtoD, memory, &value, sizeof value);
    DRIVER(cuMemcpyDtoH, &value, memory, sizeof value);
  }
  DRIVER(cuMemFree, memory);
  DRIVER(cuModuleUnload, module);
  std::printf("driver: 20 launches, value %d\n", value);
  return 0;
}
