// SPDX-License-Identifier: Apache-2.0
// synctrace-probe: loads, for `synctrace doctor`, what programs on this machine would load, and NVML for `synctrace
// run` (gpu_use.h). The command itself is linked statically and cannot; this is a dynamic program like those that are
// recorded, so its answers are theirs. It may crash or hang with what it loads. C's library only, and nothing that a
// constructor makes: on a C library before 2.34 an executable linked to a later one runs none.
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpu_use.h"

namespace {

constexpr int kCudaErrorNoDevice = 100;

// CUpti_SubscriberParams of cupti_callbacks.h: this program is built without CUDA.
struct SubscriberParams {
  std::size_t struct_size = sizeof(SubscriberParams);
  const char* subscriber_name = "synctrace doctor";
  char* old_subscriber_name = nullptr;
  std::size_t old_subscriber_size = 0;
};

template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// What is wrong with the recorder; nothing when it loads.
void try_recorder(const char* path) {
  void* recorder = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (recorder == nullptr) {
    std::printf("%s", dlerror());
  } else if (dlsym(recorder, "InitializeInjection") == nullptr) {
    std::printf("%s has no InitializeInjection", path);
  }
}

// "loads" when there is a libcuda at all.
void try_driver_library() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) std::printf("loads");
}

// A line "driver VERSION", a line "gpu NAME" for each, or one line "error WHAT".
void ask_driver() {
  // The recorder and other tools would load themselves into this process.
  unsetenv("CUDA_INJECTION64_PATH");
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) {
    std::printf("missing");
    return;
  }
  const auto init = find<int (*)(unsigned)>(driver, "cuInit");
  const auto version = find<int (*)(int*)>(driver, "cuDriverGetVersion");
  const auto count = find<int (*)(int*)>(driver, "cuDeviceGetCount");
  const auto name = find<int (*)(char*, int, int)>(driver, "cuDeviceGetName");
  if (init == nullptr || version == nullptr || count == nullptr || name == nullptr) {
    std::printf("error libcuda.so.1 lacks functions");
    return;
  }
  int number = 0;
  if (version(&number) == 0) std::printf("driver %d.%d\n", number / 1000, number % 1000 / 10);
  const int status = init(0);
  if (status != 0 && status != kCudaErrorNoDevice) {
    std::printf("error cuInit failed with %d", status);
    return;
  }
  int devices = 0;
  if (status == 0) count(&devices);
  for (int device = 0; device < devices; ++device) {
    char text[256] = {};
    if (name(text, sizeof text, device) == 0) std::printf("gpu %s\n", text);
  }
}

int subscribe(void* cupti, char* holder, std::size_t size) {
  using Callback = void (*)(void*, int, unsigned, const void*);
  const Callback ignore_event = [](void*, int, unsigned, const void*) {};
  void* subscriber = nullptr;
  if (const auto with_name = find<int (*)(void**, Callback, void*, SubscriberParams*)>(cupti, "cuptiSubscribe_v2")) {
    SubscriberParams params;
    params.old_subscriber_name = holder;
    params.old_subscriber_size = size;
    return with_name(&subscriber, ignore_event, nullptr, &params);
  }
  const auto plain = find<int (*)(void**, Callback, void*)>(cupti, "cuptiSubscribe");
  return plain == nullptr ? -1 : plain(&subscriber, ignore_event, nullptr);
}

// Path, version, status of a subscription, name of the holder; a line each. Nothing when there is no such library. The
// process keeps its variables (CUDA_INJECTION64_PATH...): a subscription is to meet what a program would meet.
void try_cupti(const char* name) {
  void* cupti = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (cupti == nullptr) return;
  link_map* map = nullptr;
  dlinfo(cupti, RTLD_DI_LINKMAP, &map);
  unsigned version = 0;
  const auto get_version = find<int (*)(unsigned*)>(cupti, "cuptiGetVersion");
  if (get_version == nullptr || get_version(&version) != 0) version = 0;
  char holder[128] = {};
  const int status = subscribe(cupti, holder, sizeof holder);
  std::printf("%s\n%u\n%d\n%s\n", map != nullptr && map->l_name != nullptr ? map->l_name : name, version, status,
              holder);
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const char* file = argc > 2 ? argv[2] : nullptr;
  if (std::strcmp(what, "c-library") == 0) {
    std::printf("glibc %s", gnu_get_libc_version());
  } else if (std::strcmp(what, "driver") == 0) {
    ask_driver();
  } else if (std::strcmp(what, "driver-library") == 0) {
    try_driver_library();
  } else if (std::strcmp(what, "recorder") == 0 && file != nullptr) {
    try_recorder(file);
  } else if (std::strcmp(what, "cupti") == 0 && file != nullptr) {
    try_cupti(file);
  } else if (std::strcmp(what, "gpu-use") == 0 && file != nullptr) {
    synctrace::probe::watch_gpus(file);
  } else {
    std::fputs("synctrace-probe: a part of synctrace doctor and run, which see\n", stderr);
    return 2;
  }
  const bool written = std::fflush(stdout) == 0;
  _Exit(written ? 0 : 1);  // no exit handlers: those of a broken library could hang
}
