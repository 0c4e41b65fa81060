// SPDX-License-Identifier: Apache-2.0
// Loads and unloads libraries with thread-local variables from several threads while kernels run.
//   many_libraries FOLDER COUNT [THREADS] [ROUNDS]      FOLDER/lib0.so ... are made by soak.py
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    const cudaError_t result = (call);                                                     \
    if (result != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result)); \
      std::exit(3);                                                                        \
    }                                                                                      \
  } while (0)

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }

// Each thread has libraries of its own, so that each round maps and unmaps them.
static long load_all(const std::string& folder, int first, int step, int count, int rounds) {
  long sum = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<void*> handles;
    for (int i = first; i < count; i += step) {
      const std::string name = folder + "/lib" + std::to_string(i) + ".so";
      void* handle = dlopen(name.c_str(), round % 2 == 0 ? RTLD_NOW : RTLD_LAZY);
      if (handle == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(4);
      }
      const auto number = reinterpret_cast<int (*)()>(dlsym(handle, "number"));
      sum += number();
      handles.push_back(handle);
    }
    // The last round leaves them loaded, so that the program ends with them.
    if (round + 1 < rounds) {
      for (void* handle : handles) dlclose(handle);
    }
  }
  return sum;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string folder = argv[1];
  const int count = std::atoi(argv[2]);
  const int threads = argc > 3 ? std::atoi(argv[3]) : 4;
  const int rounds = argc > 4 ? std::atoi(argv[4]) : 20;
  int* data = nullptr;
  CHECK(cudaMalloc(&data, 256 * sizeof(int)));
  CHECK(cudaMemset(data, 0, 256 * sizeof(int)));
  std::atomic<long> sum{0};
  std::vector<std::thread> loaders;
  for (int t = 0; t < threads; ++t)
    loaders.emplace_back([&, t] { sum += load_all(folder, t, threads, count, rounds); });
  int host[256];
  for (int step = 0; step < 2000; ++step) {
    add<<<1, 256>>>(data, 1);
    CHECK(cudaGetLastError());
    if (step % 10 == 0) CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  }
  for (std::thread& loader : loaders) loader.join();
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  std::printf("ok %ld %d\n", sum.load(), host[7]);
  return 0;
}
