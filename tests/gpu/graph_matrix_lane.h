// SPDX-License-Identifier: Apache-2.0
// What all kinds of graph_matrix.cu share: options, counts, checks, kernels, and a stream with its memory.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#define CHECK(call) check((call), #call, __LINE__)
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
#define DRIVER(name, ...) check_driver(symbol<decltype(&name)>(TEXT(name))(__VA_ARGS__), #name, __LINE__)

namespace {

constexpr int kNumbers = 4096;
constexpr std::size_t kBytes = kNumbers * sizeof(int);
constexpr int kBlock = 256;

// Rounds of warm-up work take a millisecond and more each: several periods of the recorder's flush pass before the
// first graph.
std::map<std::string, int> g_options = {{"launches", 200},   {"warmup", 300}, {"background", 600}, {"pace_us", 1000},
                                        {"launch_us", 1000}, {"kernels", 21}, {"library", 0},      {"pool", 0},
                                        {"host", 0},         {"events", 0},   {"capture", 0},      {"priority", 0},
                                        {"update", 0},       {"graphs", 3},   {"copies", 1},       {"plain", 1},
                                        {"verify", 1},       {"read", 0},     {"thread", 0}};

inline int launches() { return g_options["launches"]; }

struct Contents {
  int kernels = 0, copies = 0, memsets = 0, peer = 0;
};

struct Counts {
  std::atomic<long> graphs{0}, kernels{0}, copies{0}, memsets{0}, peer{0};
  std::atomic<long> graph_kernels{0}, graph_copies{0}, graph_memsets{0}, graph_peer{0};
  std::atomic<bool> open{false};
} g_counts;

void check(cudaError_t result, const char* what, int line) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(result));
  std::exit(3);
}

void check_driver(CUresult result, const char* what, int line) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "line %d: %s: error %d\n", line, what, static_cast<int>(result));
  std::exit(3);
}

template <class Function>
Function symbol(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "no %s in libcuda.so.1\n", name);
    std::exit(77);
  }
  return reinterpret_cast<Function>(found);
}

__global__ void add(int* data, int value) { data[blockIdx.x * blockDim.x + threadIdx.x] += value; }
__global__ void set_turn(cudaGraphConditionalHandle handle, int* turn) {
  cudaGraphSetConditional(handle, (*turn)++ % 2);
}
__global__ void set_left(int* left, int count) { *left = count; }
__global__ void count_down(cudaGraphConditionalHandle handle, int* left) {
  cudaGraphSetConditional(handle, --*left > 0);
}
__global__ void launch_from_device(cudaGraphExec_t graph) { cudaGraphLaunch(graph, cudaStreamGraphFireAndForget); }

// A stream with memory of its own; what graphs add to `data` is checked at the end.
struct Lane {
  cudaStream_t stream = nullptr;
  int *data = nullptr, *copy = nullptr, *scratch = nullptr, *host = nullptr;
  long expected = 0;

  explicit Lane(bool priority = false) {
    CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority ? -1 : 0));
    for (int** memory : {&data, &copy, &scratch}) CHECK(cudaMalloc(memory, kBytes));
    CHECK(cudaMallocHost(&host, kBytes));
    std::memset(host, 0, kBytes);
    for (int* memory : {data, scratch}) memset_now(memory);
  }
  void memset_now(int* memory) {
    CHECK(cudaMemsetAsync(memory, 0, kBytes, stream));
    ++g_counts.memsets;
  }
  void kernel_now(int* memory, int value) {
    add<<<kNumbers / kBlock, kBlock, 0, stream>>>(memory, value);
    CHECK(cudaGetLastError());
    ++g_counts.kernels;
  }
  void copy_now(int* to, int* from) {
    CHECK(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDefault, stream));
    ++g_counts.copies;
  }
  // Copies both ways, a memset and a kernel, none of which touches `data`.
  void other_work(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      copy_now(copy, host);
      kernel_now(copy, 1);
      memset_now(scratch);
      copy_now(host, scratch);
      if (i % 8 == 7) CHECK(cudaStreamSynchronize(stream));
      usleep(g_options["pace_us"]);
    }
    CHECK(cudaStreamSynchronize(stream));
  }
  void launch(cudaGraphExec_t graph, const Contents& contents, int times, long adds) {
    for (int i = 0; i < times; ++i) {
      CHECK(cudaGraphLaunch(graph, stream));
      launched(contents, adds);
      usleep(g_options["launch_us"]);
      if (i % 16 == 15) CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaStreamSynchronize(stream));
  }
  void launched(const Contents& contents, long adds) {
    ++g_counts.graphs;
    g_counts.graph_kernels += contents.kernels;
    g_counts.graph_copies += contents.copies;
    g_counts.graph_memsets += contents.memsets;
    g_counts.graph_peer += contents.peer;
    expected += adds;
  }
  void verify(const char* what) {
    copy_now(host, data);
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < kNumbers; ++i) {
      if (host[i] == static_cast<int>(expected) || g_options["verify"] == 0) continue;
      std::fprintf(stderr, "%s: number %d is %d, expected %ld\n", what, i, host[i], expected);
      std::exit(1);
    }
  }
};

}  // namespace
