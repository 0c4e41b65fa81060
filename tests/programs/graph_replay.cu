// SPDX-License-Identifier: Apache-2.0
// A graph of N kernels, replayed: graph_replay [NODES] [REPLAYS]
#include "example.h"
#include "spin.h"

namespace {

cudaGraphExec_t make_graph(int nodes) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t previous = nullptr;
  for (int i = 0; i < nodes; ++i) {
    long long length = 5 * kMicrosecond;
    void* arguments[] = {&length};
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(&spin_ns);
    parameters.gridDim = dim3(1);
    parameters.blockDim = dim3(1);
    parameters.kernelParams = arguments;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddKernelNode(&node, graph, i > 0 ? &previous : nullptr, i > 0 ? 1 : 0, &parameters));
    previous = node;
  }
  cudaGraphExec_t instance;
  CHECK(cudaGraphInstantiate(&instance, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  return instance;
}

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 20;
  const int replays = argc > 2 ? std::atoi(argv[2]) : 50;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const cudaGraphExec_t graph = make_graph(nodes);
  for (int i = 0; i < replays; ++i) CHECK(cudaGraphLaunch(graph, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(graph));
  std::printf("graph launches %d nodes %d\n", replays, nodes);
  return 0;
}
