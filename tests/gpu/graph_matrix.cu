// SPDX-License-Identifier: Apache-2.0
// CUDA graphs of many kinds, with other work under way before and while the first is made. Counts what it launches.
//   graph_matrix KIND [name=number...]     a KIND of kKinds, or "all" (but "device" and "peer"); names: g_options
//   nvcc -std=c++17 -arch=sm_90 -cudart shared -rdc=true graph_matrix.cu -o graph_matrix -lcudadevrt -ldl
// Last line: "ok KIND graphs=... kernels=..."; graph_* is what all launches of graphs run together, -1 where that is
// open. Exit status: 0, 1 a wrong result, 3 an error of CUDA, 77 the kind needs what is not here.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "graph_matrix_lane.h"
#include "graph_matrix_xla.h"

namespace {

cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t after, void* function, std::vector<void*> arguments,
                           bool wide) {
  cudaKernelNodeParams parameters{};
  parameters.func = function;
  parameters.gridDim = dim3(wide ? kNumbers / kBlock : 1);
  parameters.blockDim = dim3(wide ? kBlock : 1);
  parameters.kernelParams = arguments.data();
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, &after, after == nullptr ? 0 : 1, &parameters));
  return node;
}

cudaGraphNode_t add_add(cudaGraph_t graph, cudaGraphNode_t after, int* data, int value) {
  return add_kernel(graph, after, reinterpret_cast<void*>(&add), {&data, &value}, true);
}

// Kernels in a row, a copy within the device, a memset.
cudaGraph_t node_graph(const Lane& lane, int kernels, int value, std::vector<cudaGraphNode_t>* nodes = nullptr) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t last = nullptr;
  for (int i = 0; i < kernels; ++i) {
    last = add_add(graph, last, lane.data, value);
    if (nodes != nullptr) nodes->push_back(last);
  }
  cudaGraphNode_t copy, memset;
  CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &last, 1, lane.copy, lane.data, kBytes, cudaMemcpyDeviceToDevice));
  cudaMemsetParams parameters{};
  parameters.dst = lane.scratch;
  parameters.elementSize = 4;
  parameters.width = kNumbers;
  parameters.height = 1;
  CHECK(cudaGraphAddMemsetNode(&memset, graph, &copy, 1, &parameters));
  return graph;
}

cudaGraph_t captured_graph(const Lane& lane, int kernels, int value) {
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(lane.stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kernels; ++i) add<<<kNumbers / kBlock, kBlock, 0, lane.stream>>>(lane.data, value);
  CHECK(cudaMemcpyAsync(lane.copy, lane.data, kBytes, cudaMemcpyDeviceToDevice, lane.stream));
  CHECK(cudaMemsetAsync(lane.scratch, 0, kBytes, lane.stream));
  CHECK(cudaStreamEndCapture(lane.stream, &graph));
  return graph;
}

cudaGraphExec_t instance_of(cudaGraph_t graph, unsigned long long flags = 0) {
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, flags));
  return exec;
}

void run_once_made(Lane& lane, cudaGraph_t graph, const Contents& contents, int times, long adds) {
  const cudaGraphExec_t exec = instance_of(graph);
  CHECK(cudaGraphDestroy(graph));
  lane.launch(exec, contents, times, adds);
  CHECK(cudaGraphExecDestroy(exec));
}

void captured(Lane& lane) { run_once_made(lane, captured_graph(lane, 10, 1), {10, 1, 1}, launches(), 10); }
void nodes(Lane& lane) { run_once_made(lane, node_graph(lane, 10, 1), {10, 1, 1}, launches(), 10); }

void child(Lane& lane) {
  cudaGraph_t inner = node_graph(lane, 4, 1), graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t first = add_add(graph, nullptr, lane.data, 2), middle;
  CHECK(cudaGraphAddChildGraphNode(&middle, graph, &first, 1, inner));
  add_add(graph, middle, lane.data, 3);
  CHECK(cudaGraphDestroy(inner));
  run_once_made(lane, graph, {6, 1, 1}, launches(), 9);
}

// IF runs its body at every second launch, WHILE five times at each.
void conditional(Lane& lane, cudaGraphConditionalNodeType type) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  const bool loop = type == cudaGraphCondTypeWhile;
  cudaGraphConditionalHandle handle;
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, loop ? 1 : 0, cudaGraphCondAssignDefault));
  int* state = lane.copy;  // nothing else uses it by now
  int count = 5;
  CHECK(cudaMemsetAsync(state, 0, kBytes, lane.stream));
  ++g_counts.memsets;
  cudaGraphNode_t first =
      loop ? add_kernel(graph, nullptr, reinterpret_cast<void*>(&set_left), {&state, &count}, false)
           : add_kernel(graph, nullptr, reinterpret_cast<void*>(&set_turn), {&handle, &state}, false);
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = handle;
  parameters.conditional.type = type;
  parameters.conditional.size = 1;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddNode(&node, graph, &first, nullptr, 1, &parameters));
  cudaGraph_t body = parameters.conditional.phGraph_out[0];
  cudaGraphNode_t last = add_add(body, nullptr, lane.data, 1);
  if (loop) add_kernel(body, last, reinterpret_cast<void*>(&count_down), {&handle, &state}, false);
  g_counts.open = true;
  const int times = launches() / 2 * 2;
  run_once_made(lane, graph, {}, times, 0);
  lane.expected += loop ? 5L * times : times / 2;
}

// One instance whose nodes get other parameters, and one that takes over other graphs.
void updated(Lane& lane) {
  std::vector<cudaGraphNode_t> kernels;
  cudaGraph_t graph = node_graph(lane, 10, 1, &kernels);
  const cudaGraphExec_t by_node = instance_of(graph), by_graph = instance_of(graph);
  for (int round = 0; round < 10; ++round) {
    int value = round;
    void* arguments[] = {&lane.data, &value};
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(&add);
    parameters.gridDim = dim3(kNumbers / kBlock);
    parameters.blockDim = dim3(kBlock);
    parameters.kernelParams = arguments;
    for (cudaGraphNode_t node : kernels) CHECK(cudaGraphExecKernelNodeSetParams(by_node, node, &parameters));
    lane.launch(by_node, {10, 1, 1}, launches() / 20, 10L * value);
    cudaGraph_t other = node_graph(lane, 10, 100 + round);
    cudaGraphExecUpdateResultInfo result;
    CHECK(cudaGraphExecUpdate(by_graph, other, &result));
    CHECK(cudaGraphDestroy(other));
    lane.launch(by_graph, {10, 1, 1}, launches() / 20, 10L * (100 + round));
  }
  CHECK(cudaGraphExecDestroy(by_node));
  CHECK(cudaGraphExecDestroy(by_graph));
  CHECK(cudaGraphDestroy(graph));
}

void cloned(Lane& lane) {
  cudaGraph_t graph = node_graph(lane, 10, 1), clone;
  CHECK(cudaGraphClone(&clone, graph));
  const cudaGraphExec_t exec = instance_of(graph);
  for (int i = 0; i < 10; ++i) {
    lane.launch(exec, {10, 1, 1}, launches() / 20, 10);
    cudaGraph_t another;
    CHECK(cudaGraphClone(&another, clone));
    run_once_made(lane, another, {10, 1, 1}, launches() / 20, 10);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(clone));
  CHECK(cudaGraphDestroy(graph));
}

void device(Lane& lane) {
  cudaGraph_t inner = node_graph(lane, 4, 1), graph;
  cudaGraphExec_t from_device = instance_of(inner, cudaGraphInstantiateFlagDeviceLaunch);
  CHECK(cudaGraphUpload(from_device, lane.stream));
  CHECK(cudaStreamSynchronize(lane.stream));
  CHECK(cudaGraphCreate(&graph, 0));
  add_kernel(graph, nullptr, reinterpret_cast<void*>(&launch_from_device), {&from_device}, false);
  g_counts.open = true;
  run_once_made(lane, graph, {}, launches(), 4);
  CHECK(cudaGraphExecDestroy(from_device));
  CHECK(cudaGraphDestroy(inner));
}

void threads(Lane&) {
  std::vector<std::thread> all;
  for (int i = 0; i < 6; ++i) {
    all.emplace_back([i] {
      Lane own;
      for (int turn = 0; turn < 5; ++turn) {
        const bool capture = (i + turn) % 2 == 0;
        run_once_made(own, capture ? captured_graph(own, 8, 1) : node_graph(own, 8, 1), {8, 1, 1}, launches() / 10, 8);
      }
      own.verify("threads");
    });
  }
  for (std::thread& one : all) one.join();
}

void many(Lane& lane) {
  std::vector<cudaGraphExec_t> kept;
  for (int i = 0; i < 200; ++i) {
    cudaGraph_t graph = i % 2 == 0 ? node_graph(lane, 3, 1) : captured_graph(lane, 3, 1);
    const cudaGraphExec_t exec = instance_of(graph);
    CHECK(cudaGraphDestroy(graph));
    lane.launch(exec, {3, 1, 1}, 2, 3);
    kept.push_back(exec);
    if (i % 3 == 0) {
      CHECK(cudaGraphExecDestroy(kept.back()));
      kept.pop_back();
    }
  }
  for (cudaGraphExec_t exec : kept) CHECK(cudaGraphExecDestroy(exec));
}

void peer(Lane& lane) {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  if (count < 2) {
    std::fprintf(stderr, "one GPU: skipped\n");
    std::fflush(stderr);
    std::_Exit(77);  // another thread uses CUDA
  }
  int* far = nullptr;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&far, kBytes));
  if (g_options["plain"]) cudaDeviceEnablePeerAccess(0, 0);
  CHECK(cudaSetDevice(0));
  if (g_options["plain"]) cudaDeviceEnablePeerAccess(1, 0);
  cudaGetLastError();
  for (int i = 0; i < launches() / 2; ++i) {
    CHECK(cudaMemcpyPeerAsync(far, 1, lane.data, 0, kBytes, lane.stream));
    CHECK(cudaMemcpyPeerAsync(lane.data, 0, far, 1, kBytes, lane.stream));
    g_counts.peer += 2;
  }
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(lane.stream, cudaStreamCaptureModeThreadLocal));
  add<<<kNumbers / kBlock, kBlock, 0, lane.stream>>>(lane.data, 1);
  CHECK(cudaStreamEndCapture(lane.stream, &graph));
  run_once_made(lane, graph, {1, 0, 0, 0}, launches(), 1);
}

const std::vector<std::pair<std::string, std::function<void(Lane&)>>> kKinds = {
    {"captured", captured},
    {"nodes", nodes},
    {"child", child},
    {"if", [](Lane& lane) { conditional(lane, cudaGraphCondTypeIf); }},
    {"while", [](Lane& lane) { conditional(lane, cudaGraphCondTypeWhile); }},
    {"updated", updated},
    {"cloned", cloned},
    {"device", device},
    {"threads", threads},
    {"many", many},
    {"xla", xla},
    {"peer", peer},
};

void read_options(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    const char* equals = std::strchr(argv[i], '=');
    const auto option = g_options.find(std::string(argv[i], equals == nullptr ? 0 : equals - argv[i]));
    if (option == g_options.end()) {
      std::fprintf(stderr, "no option %s\n", argv[i]);
      std::exit(2);
    }
    option->second = std::atoi(equals + 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  read_options(argc, argv);
  bool found = false;
  Lane main_lane(g_options["priority"] != 0), side_lane;
  CHECK(cudaDeviceSynchronize());
  std::thread background([&] { side_lane.other_work(g_options["background"]); });
  main_lane.other_work(g_options["warmup"]);
  CHECK(cudaProfilerStart());
  for (const auto& [name, function] : kKinds) {
    if (name != wanted && (wanted != "all" || name == "peer" || name == "device")) continue;
    found = true;
    function(main_lane);
    main_lane.verify(name.c_str());
  }
  CHECK(cudaProfilerStop());
  background.join();
  side_lane.other_work(8);
  CHECK(cudaDeviceSynchronize());
  if (!found) {
    std::fprintf(stderr, "no kind '%s'\n", wanted.c_str());
    return 2;
  }
  const bool open = g_counts.open;
  std::printf(
      "ok %s graphs=%ld kernels=%ld copies=%ld memsets=%ld peer=%ld graph_kernels=%ld graph_copies=%ld "
      "graph_memsets=%ld graph_peer=%ld\n",
      wanted.c_str(), g_counts.graphs.load(), g_counts.kernels.load(), g_counts.copies.load(), g_counts.memsets.load(),
      g_counts.peer.load(), open ? -1L : g_counts.graph_kernels.load(), open ? -1L : g_counts.graph_copies.load(),
      open ? -1L : g_counts.graph_memsets.load(), open ? -1L : g_counts.graph_peer.load());
  return 0;
}
