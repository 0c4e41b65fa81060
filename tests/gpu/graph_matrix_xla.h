// SPDX-License-Identifier: Apache-2.0
// The kind "xla" of graph_matrix.cu: graphs as XLA makes them. Kernels loaded at run time, one
// module or library each, nodes added one by one by the driver API, parameters set again when buffers move.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "graph_matrix_lane.h"

namespace {

cudaGraph_t captured_graph(const Lane& lane, int kernels, int value);

std::string ptx_of(int number) {
  std::string text = R"(
.version 7.8
.target sm_80
.address_size 64
.visible .entry fusion_NUMBER(.param .u64 data, .param .u32 value)
{
  .reg .b32 %r<7>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r6, [%rd4];
  add.u32 %r6, %r6, %r1;
  st.global.u32 [%rd4], %r6;
  ret;
}
)";
  return text.replace(text.find("NUMBER"), 6, std::to_string(number));
}

struct Fusion {
  CUfunction function = nullptr;
  CUkernel kernel = nullptr;
};

Fusion load_fusion(int number) {
  const std::string ptx = ptx_of(number), name = "fusion_" + std::to_string(number);
  Fusion fusion;
  if (g_options["library"]) {
    CUlibrary library;
    DRIVER(cuLibraryLoadData, &library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    DRIVER(cuLibraryGetKernel, &fusion.kernel, library, name.c_str());
    if (g_options["library"] == 2) DRIVER(cuKernelGetFunction, &fusion.function, fusion.kernel);
  } else {
    CUmodule module;
    DRIVER(cuModuleLoadDataEx, &module, ptx.c_str(), 0, nullptr, nullptr);
    DRIVER(cuModuleGetFunction, &fusion.function, module, name.c_str());
  }
  return fusion;
}

// pool=1: of a pool in stream order; pool=2: mapped by the program itself.
CUdeviceptr memory_for(const Lane& lane) {
  if (g_options["pool"] == 0) return reinterpret_cast<CUdeviceptr>(lane.data);
  CUdeviceptr memory = 0;
  if (g_options["pool"] == 1) {
    DRIVER(cuMemAllocAsync, &memory, kBytes, lane.stream);
  } else {
    CUmemAllocationProp wish{};
    wish.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wish.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    std::size_t size = 0;
    DRIVER(cuMemGetAllocationGranularity, &size, &wish, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    CUmemGenericAllocationHandle handle;
    DRIVER(cuMemCreate, &handle, size, &wish, 0);
    DRIVER(cuMemAddressReserve, &memory, size, 0, 0, 0);
    DRIVER(cuMemMap, memory, size, 0, handle, 0);
    CUmemAccessDesc access{wish.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    DRIVER(cuMemSetAccess, memory, size, &access, 1);
  }
  return memory;
}

CUDA_KERNEL_NODE_PARAMS fusion_node(const Fusion& fusion, void** arguments) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  parameters.func = fusion.function;
  parameters.kern = fusion.function == nullptr ? fusion.kernel : nullptr;
  parameters.gridDimX = kNumbers / kBlock;
  parameters.blockDimX = kBlock;
  parameters.gridDimY = parameters.gridDimZ = parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.kernelParams = arguments;
  return parameters;
}

// What is not in `data` for pool=1 and 2 is added to it by one kernel of the graph, so that the sum stays checked.
void xla_graph(Lane& lane, const std::vector<Fusion>& fusions, CUdeviceptr memory) {
  CUcontext context;
  DRIVER(cuCtxGetCurrent, &context);
  CUgraph graph;
  DRIVER(cuGraphCreate, &graph, 0);
  CUdeviceptr data = reinterpret_cast<CUdeviceptr>(lane.data);
  unsigned value = 1;
  std::vector<CUgraphNode> nodes;
  for (std::size_t i = 0; i < fusions.size(); ++i) {
    CUdeviceptr target = i % 2 == 0 ? data : memory;
    void* arguments[] = {&target, &value};
    const CUDA_KERNEL_NODE_PARAMS parameters = fusion_node(fusions[i], arguments);
    CUgraphNode node;
    DRIVER(cuGraphAddKernelNode, &node, graph, nodes.empty() ? nullptr : &nodes.back(), nodes.empty() ? 0 : 1,
           &parameters);
    nodes.push_back(node);
  }
  Contents contents{static_cast<int>(fusions.size()), 0, 0};
  if (g_options["copies"]) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = data;
    copy.dstDevice = reinterpret_cast<CUdeviceptr>(lane.copy);
    copy.WidthInBytes = kBytes;
    copy.Height = copy.Depth = 1;
    CUDA_MEMSET_NODE_PARAMS clear{};
    clear.dst = reinterpret_cast<CUdeviceptr>(lane.scratch);
    clear.elementSize = 4;
    clear.width = kNumbers;
    clear.height = 1;
    CUgraphNode first, second;
    DRIVER(cuGraphAddMemcpyNode, &first, graph, &nodes.back(), 1, &copy, context);
    DRIVER(cuGraphAddMemsetNode, &second, graph, &first, 1, &clear, context);
    contents.copies = contents.memsets = 1;
  }
  if (g_options["capture"]) {  // XLA captures what a library launches like this
    cudaGraph_t inner = captured_graph(lane, 2, 0);
    CUgraphNode node;
    DRIVER(cuGraphAddChildGraphNode, &node, graph, &nodes.back(), 1, reinterpret_cast<CUgraph>(inner));
    contents.kernels += 2, ++contents.copies, ++contents.memsets;
  }
  CUgraphExec exec;
  DRIVER(cuGraphInstantiate, &exec, graph, 0);
  CUevent event;
  CUstream reader;
  DRIVER(cuStreamCreate, &reader, CU_STREAM_NON_BLOCKING);
  DRIVER(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  const long to_data =
      static_cast<long>(fusions.size() + 1) / 2 + (g_options["pool"] == 0 ? static_cast<long>(fusions.size()) / 2 : 0);
  for (int i = 0; i < launches(); ++i) {
    if (g_options["update"] && i % 10 == 9) {
      for (std::size_t k = 0; k < fusions.size(); ++k) {
        CUdeviceptr target = k % 2 == 0 ? data : memory;
        void* arguments[] = {&target, &value};
        const CUDA_KERNEL_NODE_PARAMS parameters = fusion_node(fusions[k], arguments);
        DRIVER(cuGraphExecKernelNodeSetParams, exec, nodes[k], &parameters);
      }
    }
    DRIVER(cuGraphLaunch, exec, lane.stream);
    lane.launched(contents, to_data);
    usleep(g_options["launch_us"]);
    if (g_options["events"]) DRIVER(cuEventRecord, event, lane.stream);
    if (g_options["host"])
      DRIVER(
          cuLaunchHostFunc, lane.stream, [](void*) {}, nullptr);
    if (g_options["read"]) {  // JAX reads a result like this: on a stream of its own, behind an event
      DRIVER(cuEventRecord, event, lane.stream);
      DRIVER(cuStreamWaitEvent, reader, event, 0);
      DRIVER(cuMemcpyDtoHAsync, lane.host, data, 4, reader);
      ++g_counts.copies;
      DRIVER(cuStreamSynchronize, reader);
    } else if (i % 4 == 3) {
      lane.copy_now(lane.host, lane.data);
    }
    if (i % 16 == 15) DRIVER(cuStreamSynchronize, lane.stream);
  }
  DRIVER(cuStreamSynchronize, lane.stream);
  DRIVER(cuStreamDestroy, reader);
  DRIVER(cuEventDestroy, event);
  DRIVER(cuGraphExecDestroy, exec);
  DRIVER(cuGraphDestroy, graph);
}

void xla(Lane& lane) {
  std::vector<Fusion> fusions;
  for (int i = 0; i < g_options["kernels"]; ++i) fusions.push_back(load_fusion(i));
  const CUdeviceptr memory = memory_for(lane);
  if (g_options["plain"]) {  // XLA's first step may run without a graph
    for (const Fusion& fusion : fusions) {
      CUdeviceptr data = reinterpret_cast<CUdeviceptr>(lane.data);
      unsigned value = 1;
      void* arguments[] = {&data, &value};
      const CUfunction function =
          fusion.function != nullptr ? fusion.function : reinterpret_cast<CUfunction>(fusion.kernel);
      DRIVER(cuLaunchKernel, function, kNumbers / kBlock, 1, 1, kBlock, 1, 1, 0, lane.stream, arguments, nullptr);
      ++g_counts.kernels;
      ++lane.expected;
    }
  }
  const auto work = [&] {
    CHECK(cudaSetDevice(0));
    for (int i = 0; i < g_options["graphs"]; ++i) xla_graph(lane, fusions, memory);
  };
  if (g_options["thread"]) {
    std::thread(work).join();
  } else {
    work();
  }
}

}  // namespace
