// SPDX-License-Identifier: Apache-2.0
// The least that any tool with a timeline pays: CUPTI's records of kernels, copies and fills, thrown away unread, and
// nothing else. Loaded by the driver itself: CUDA_INJECTION64_PATH=libcupti_only.so.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>

namespace {

constexpr std::size_t kBytes = 256 << 10;

void CUPTIAPI on_requested(std::uint8_t** data, std::size_t* bytes, std::size_t* records) {
  *data = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBytes));
  *bytes = *data != nullptr ? kBytes : 0;
  *records = 0;
}

void CUPTIAPI on_completed(CUcontext, std::uint32_t, std::uint8_t* data, std::size_t, std::size_t) { std::free(data); }

template <class Function>
Function* find(void* cupti, const char* name) {
  return reinterpret_cast<Function*>(dlsym(cupti, name));
}

}  // namespace

// What the driver calls: 1 for success.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  void* const cupti = dlopen("libcupti.so.13", RTLD_NOW);
  if (cupti == nullptr) return 0;
  const auto callbacks = find<decltype(cuptiActivityRegisterCallbacks)>(cupti, "cuptiActivityRegisterCallbacks");
  const auto enable = find<decltype(cuptiActivityEnable)>(cupti, "cuptiActivityEnable");
  if (callbacks == nullptr || enable == nullptr || callbacks(on_requested, on_completed) != CUPTI_SUCCESS) return 0;
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
    if (enable(kind) != CUPTI_SUCCESS) return 0;
  return 1;
}
