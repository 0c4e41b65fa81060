// SPDX-License-Identifier: Apache-2.0
// Copies until whoever records has flushed its records, then makes graphs and launches them, one after the other:
// graphs_later [GRAPHS]. The simulated GPU counts flushes; on a real one 2 s stand for it. Alone, it goes on at once.
#include <dlfcn.h>

#include "example.h"
#include "spin.h"

namespace {

// Rounds of 1 ms. A recorder that never flushes fails a test instead of holding it.
constexpr int kMostRounds = 60'000;
constexpr int kRoundsOnGpu = 2'000;

void copy(void* device) {
  static const std::vector<char> host(4096);
  CHECK(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice));
}

void launch_graph(cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t instance;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 5; ++i) spin_ns<<<1, 1, 0, stream>>>(5 * kMicrosecond);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&instance, graph, 0));
  for (int i = 0; i < 20; ++i) CHECK(cudaGraphLaunch(instance, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(instance));
  CHECK(cudaGraphDestroy(graph));
}

}  // namespace

int main(int argc, char** argv) {
  const int graphs = argc > 1 ? std::atoi(argv[1]) : 3;
  void* device = nullptr;
  cudaStream_t stream;
  CHECK(cudaMalloc(&device, 4096));
  CHECK(cudaStreamCreate(&stream));
  copy(device);
  if (void* tools = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD)) {
    const auto flush_count = reinterpret_cast<std::uint64_t (*)()>(dlsym(tools, "simgpu_flush_count"));
    const auto is_flushed = [&] { return flush_count != nullptr && flush_count() != 0; };
    for (int i = 0; i < (flush_count != nullptr ? kMostRounds : kRoundsOnGpu) && !is_flushed(); ++i) {
      copy(device);
      host_work(1000 * kMicrosecond);
    }
    std::fprintf(stderr, "flushed first: %s\n", is_flushed() ? "yes" : "unknown");
  }
  for (int i = 0; i < graphs; ++i) launch_graph(stream);
  CHECK(cudaFree(device));
  std::printf("%d graphs\n", graphs);
  return 0;
}
