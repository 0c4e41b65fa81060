// SPDX-License-Identifier: Apache-2.0
// Waits for the GPU at the end of known chains of calls, compiled with optimisation and without frame pointers:
//   native_callers direct            main -> outer -> middle -> inner -> wait
//   native_callers plugins N A B     N times with a plug-in's plugin_call below inner, of A, then of B in A's place
// Prints how often each chain was gone.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr long long kSpinNs = 1'000'000;

__global__ void spin_ns(long long ns) {
  const long long begin = clock64();
  while (clock64() - begin < ns) {
  }
}

using Call = int (*)(int (*)(void*), void*);

extern "C" {

__attribute__((noinline)) int inner(void*) {
  spin_ns<<<1, 1>>>(kSpinNs);
  const int status = cudaDeviceSynchronize();
  __asm__ volatile("");  // no tail call
  return status;
}

__attribute__((noinline)) int middle(Call call, int depth) {
  char local[200];
  std::memset(local, depth, sizeof local);
  __asm__ volatile("" : : "r"(local) : "memory");
  const int status = call == nullptr ? inner(local) : call(inner, local);
  __asm__ volatile("" : : "r"(local) : "memory");
  return status;
}

__attribute__((noinline)) int outer(Call call, int count) {
  int done = 0;
  for (int i = 0; i < count; ++i) done += middle(call, i) == 0 ? 1 : 0;
  return done;
}
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (std::strcmp(argv[1], "direct") == 0) {
    std::printf("direct %d\n", outer(nullptr, 20));
    return 0;
  }
  const int calls = argc > 2 ? std::atoi(argv[2]) : 0;
  for (int i = 3; i < argc; ++i) {
    void* plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    const auto call = reinterpret_cast<Call>(dlsym(plugin, "plugin_call"));
    if (call == nullptr) return 1;
    std::printf("plugin %d\n", outer(call, calls));
    dlclose(plugin);
  }
  return 0;
}
