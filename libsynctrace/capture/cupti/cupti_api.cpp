// SPDX-License-Identifier: Apache-2.0
#include "capture/cupti/cupti_api.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace synctrace::capture {
namespace {

constexpr const char* kSonames[] = {"libcupti.so.13", "libcupti.so.12"};

constexpr bool is_supported(std::uint32_t version) noexcept {
  const bool cuda_12 = version >= 18 && version < 100;
  const bool cuda_13 = version >= 130000 && version < 140000;
  return cuda_12 || cuda_13;
}

struct LoadedRuntime {
  char folder[900] = "";
  int major = 0;  // the number in libcudart.so.<major>
};

// The folder and major version of the loaded libcudart. A statically linked one leaves no trace. Modules are not
// iterated over: dl_iterate_phdr is for threads that know that no other one is inside dlopen.
LoadedRuntime find_runtime() noexcept {
  LoadedRuntime runtime;
  for (int major = 13; major >= 12; --major) {
    char name[32];
    std::snprintf(name, sizeof(name), "libcudart.so.%d", major);
    void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    const link_map* map = nullptr;
    const char* end = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? std::strrchr(map->l_name, '/') : nullptr;
    if (end != nullptr && static_cast<std::size_t>(end - map->l_name) < sizeof(runtime.folder)) {
      std::memcpy(runtime.folder, map->l_name, static_cast<std::size_t>(end - map->l_name));
      runtime.major = major;
    }
    dlclose(handle);  // the program's own use of it stays
    if (runtime.major != 0) break;
  }
  return runtime;
}

template <class Function>
bool resolve(void* handle, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

bool resolve_all(void* handle, CuptiFunctions& f) noexcept {
  resolve(handle, "cuptiSubscribe_v2", f.Subscribe_v2);
  resolve(handle, "cuptiActivityRegisterTimestampCallback", f.ActivityRegisterTimestampCallback);
  resolve(handle, "cuptiSetThreadIdType", f.SetThreadIdType);
  resolve(handle, "cuptiActivityEnableAndDump", f.ActivityEnableAndDump);
  return resolve(handle, "cuptiGetVersion", f.GetVersion) && resolve(handle, "cuptiSubscribe", f.Subscribe) &&
         resolve(handle, "cuptiUnsubscribe", f.Unsubscribe) &&
         resolve(handle, "cuptiEnableCallback", f.EnableCallback) &&
         resolve(handle, "cuptiEnableDomain", f.EnableDomain) &&
         resolve(handle, "cuptiActivityRegisterCallbacks", f.ActivityRegisterCallbacks) &&
         resolve(handle, "cuptiActivityEnable", f.ActivityEnable) &&
         resolve(handle, "cuptiActivityDisable", f.ActivityDisable) &&
         resolve(handle, "cuptiActivityFlushAll", f.ActivityFlushAll) &&
         resolve(handle, "cuptiActivityGetNextRecord", f.ActivityGetNextRecord) &&
         resolve(handle, "cuptiActivityGetNumDroppedRecords", f.ActivityGetNumDroppedRecords) &&
         resolve(handle, "cuptiActivitySetAttribute", f.ActivitySetAttribute) &&
         resolve(handle, "cuptiGetTimestamp", f.GetTimestamp) &&
         resolve(handle, "cuptiGetStreamIdEx", f.GetStreamIdEx) &&
         resolve(handle, "cuptiGetContextId", f.GetContextId) &&
         resolve(handle, "cuptiGetResultString", f.GetResultString);
}

}  // namespace

CuptiStatus CuptiApi::try_loaded(void* handle) noexcept {
  CuptiFunctions found;
  if (!resolve_all(handle, found)) return CuptiStatus::kUnusable;
  std::uint32_t version = 0;
  if (found.GetVersion(&version) != CUPTI_SUCCESS) return CuptiStatus::kUnusable;
  version_ = version;
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr)
    std::snprintf(path_, sizeof(path_), "%s", map->l_name);
  if (!is_supported(version)) return CuptiStatus::kUnsupported;
  functions_ = found;
  return CuptiStatus::kLoaded;
}

CuptiStatus CuptiApi::try_path(const char* path) noexcept {
  if (void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    std::snprintf(path_, sizeof(path_), "%s", path);
    return try_loaded(handle);
  }
  const bool exists = std::strchr(path, '/') != nullptr && access(path, F_OK) == 0;
  return exists ? CuptiStatus::kUnusable : CuptiStatus::kNotFound;
}

CuptiStatus CuptiApi::load(const char* preferred_path) noexcept {
  if (*preferred_path != '\0') {
    std::snprintf(path_, sizeof(path_), "%s", preferred_path);
    return try_path(preferred_path);
  }
  CuptiStatus best = CuptiStatus::kNotFound;
  const auto settle = [&](CuptiStatus status) {
    if (status != CuptiStatus::kNotFound && best != CuptiStatus::kLoaded) best = status;
    return status == CuptiStatus::kLoaded;
  };

  for (const char* soname : kSonames) {
    void* handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle != nullptr && settle(try_loaded(handle))) return best;
  }

  const LoadedRuntime runtime = find_runtime();
  const char* toolkit = std::getenv("CUDA_HOME");
  const char* folders[] = {runtime.folder, toolkit == nullptr ? "" : toolkit, "/usr/local/cuda"};
  // Beside libcudart: the toolkit's lib64 and the CUDA 13 wheels. ../../cuda_cupti/lib: the CUDA 12 wheels.
  constexpr const char* kPlaces[] = {"", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64", "/lib64",
                                     "/extras/CUPTI/lib64"};
  for (const char* folder : folders) {
    if (*folder == '\0') continue;
    for (const char* place : kPlaces) {
      for (const char* soname : kSonames) {
        if (runtime.major != 0 && std::atoi(soname + std::strlen("libcupti.so.")) != runtime.major) continue;
        char path[1024];
        std::snprintf(path, sizeof(path), "%s%s/%s", folder, place, soname);
        if (settle(try_path(path))) return best;
      }
    }
  }
  for (const char* soname : kSonames) {
    if (settle(try_path(soname))) return best;
  }
  return best;
}

}  // namespace synctrace::capture
