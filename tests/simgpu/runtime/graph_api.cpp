// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/copy.h"
#include "runtime/device.h"
#include "runtime/graph_exec.h"
#include "runtime/kernel_work.h"

namespace synctrace::simgpu {
namespace {

Graph* to_graph(cudaGraph_t handle) { return handle_cast<Graph*>(handle); }
GraphExec* to_exec(cudaGraphExec_t handle) { return handle_cast<GraphExec*>(handle); }
GraphNode* to_node(cudaGraphNode_t handle) { return handle_cast<GraphNode*>(handle); }

cudaError_t add(cudaGraphNode_t* result, cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t count,
                Work work) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  std::vector<GraphNode*> after;
  for (std::size_t i = 0; i < count; ++i) after.push_back(to_node(dependencies[i]));
  const Timeline::Lock held = timeline().lock();
  GraphNode* node = add_node(*to_graph(graph), std::move(work), std::move(after));
  if (result != nullptr) *result = handle_cast<cudaGraphNode_t>(node);
  return cudaSuccess;
}

void report_graph_exec(GraphExec* exec) {
  const SimgpuTools* tools = attached_tools();
  constexpr auto kCreated = CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED;
  if (tools == nullptr || tools->interest(CUPTI_CB_DOMAIN_RESOURCE, kCreated) == 0) return;
  CUpti_GraphData what{};
  what.graphExec = handle_cast<CUgraphExec>(exec);
  CUpti_ResourceData data{};
  data.context = current_device().context();
  data.resourceDescriptor = &what;
  tools->callback(CUPTI_CB_DOMAIN_RESOURCE, kCreated, &data);
}

cudaError_t instantiate(cudaGraphExec_t* result, cudaGraph_t graph, unsigned long long flags) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  return SIMGPU_DRIVER_CALL(cuGraphInstantiateWithFlags, (result, graph, flags), [&] {
    std::unique_ptr<GraphExec> exec;
    {
      const Timeline::Lock held = timeline().lock();
      exec = make_exec(*to_graph(graph));
    }
    report_graph_exec(exec.get());
    *result = handle_cast<cudaGraphExec_t>(exec.release());
    return cudaSuccess;
  });
}

}  // namespace

SIMGPU_STREAM_API(cudaStreamBeginCapture, _v10000, _ptsz, _v10000, (cudaStream_t handle, cudaStreamCaptureMode mode),
                  (handle, mode)) {
  Stream* stream = find_stream(handle, default_stream);
  return stream != nullptr ? begin_capture(*stream, mode) : cudaErrorInvalidResourceHandle;
}

SIMGPU_STREAM_API(cudaStreamEndCapture, _v10000, _ptsz, _v10000, (cudaStream_t handle, cudaGraph_t* pGraph),
                  (handle, pGraph)) {
  Stream* stream = find_stream(handle, default_stream);
  return stream != nullptr ? end_capture(*stream, pGraph) : cudaErrorInvalidResourceHandle;
}

SIMGPU_STREAM_API(cudaStreamIsCapturing, _v10000, _ptsz, _v10000,
                  (cudaStream_t handle, cudaStreamCaptureStatus* pCaptureStatus), (handle, pCaptureStatus)) {
  const Stream* stream = find_stream(handle, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const Timeline::Lock held = timeline().lock();
  *pCaptureStatus = stream->capture == nullptr ? cudaStreamCaptureStatusNone
                    : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                               : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

SIMGPU_STREAM_API(cudaStreamGetCaptureInfo, _v12030, _ptsz, _v12030,
                  (cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                   const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges, std::size_t* count),
                  (handle, status, id, graph, dependencies, edges, count)) {
  const Stream* stream = find_stream(handle, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const Timeline::Lock held = timeline().lock();
  const Capture* capture = stream->capture;
  *status = capture == nullptr ? cudaStreamCaptureStatusNone
            : capture->invalid ? cudaStreamCaptureStatusInvalidated
                               : cudaStreamCaptureStatusActive;
  if (capture == nullptr) return cudaSuccess;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = handle_cast<cudaGraph_t>(capture->graph.get());
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = stream->capture_tail.size();
  if (dependencies != nullptr) {
    *dependencies = reinterpret_cast<const cudaGraphNode_t*>(stream->capture_tail.data());
  }
  return cudaSuccess;
}

// No call of this library is unsafe during a capture, so the mode is only remembered.
SIMGPU_API(cudaThreadExchangeStreamCaptureMode, _v10010, (cudaStreamCaptureMode * mode), (mode)) {
  thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(current, *mode);
  return cudaSuccess;
}

SIMGPU_API(cudaGraphCreate, _v10000, (cudaGraph_t * pGraph, unsigned flags), (pGraph, flags)) {
  *pGraph = handle_cast<cudaGraph_t>(make_graph().release());
  return cudaSuccess;
}

SIMGPU_API(cudaGraphDestroy, _v10000, (cudaGraph_t graph), (graph)) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  delete to_graph(graph);
  return cudaSuccess;
}

SIMGPU_API(cudaGraphAddEmptyNode, _v10000,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t count),
           (node, graph, dependencies, count)) {
  return add(node, graph, dependencies, count, {});
}

SIMGPU_API(cudaGraphAddKernelNode, _v10000,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t count,
            const cudaKernelNodeParams* parameters),
           (node, graph, dependencies, count, parameters)) {
  const Kernel* kernel = find_kernel(parameters->func);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  return add(node, graph, dependencies, count,
             kernel_work(current_device(), *kernel, parameters->gridDim, parameters->blockDim,
                         parameters->sharedMemBytes, parameters->kernelParams));
}

SIMGPU_API(cudaGraphAddMemcpyNode1D, _v11010,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t count,
            void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind),
           (node, graph, dependencies, count, dst, src, bytes, kind)) {
  CopyRequest request;
  request.target = dst;
  request.source = src;
  request.box.width = bytes;
  request.kind = kind;
  request.asynchronous = true;
  CopyPlan plan = plan_copy(current_device(), request);
  if (plan.error != cudaSuccess) return plan.error;
  return add(node, graph, dependencies, count, std::move(plan.work));
}

SIMGPU_API(cudaGraphAddMemsetNode, _v10000,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t count,
            const cudaMemsetParams* parameters),
           (node, graph, dependencies, count, parameters)) {
  FillRequest request;
  request.target = parameters->dst;
  request.box = {parameters->width * parameters->elementSize, parameters->height, 1};
  request.layout = {parameters->pitch, 0};
  request.value = parameters->value;
  request.element_bytes = parameters->elementSize;
  request.asynchronous = true;
  return add(node, graph, dependencies, count, fill_work(request));
}

SIMGPU_API(cudaGraphAddHostNode, _v10000,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t count,
            const cudaHostNodeParams* parameters),
           (node, graph, dependencies, count, parameters)) {
  Work work;
  work.host_function = [fn = parameters->fn, data = parameters->userData] { fn(data); };
  return add(node, graph, dependencies, count, std::move(work));
}

SIMGPU_API(cudaGraphAddDependencies, _v12030,
           (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
            std::size_t count),
           (graph, from, to, edges, count)) {
  const Timeline::Lock held = timeline().lock();
  for (std::size_t i = 0; i < count; ++i) {
    to_node(to[i])->dependencies.push_back(to_node(from[i]));
  }
  return cudaSuccess;
}

SIMGPU_API(cudaGraphGetNodes, _v10000, (cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count),
           (graph, nodes, count)) {
  const Timeline::Lock held = timeline().lock();
  const auto& all = to_graph(graph)->nodes;
  if (nodes == nullptr) {
    *count = all.size();
    return cudaSuccess;
  }
  *count = std::min(*count, all.size());
  for (std::size_t i = 0; i < *count; ++i) nodes[i] = handle_cast<cudaGraphNode_t>(all[i].get());
  return cudaSuccess;
}

SIMGPU_API(cudaGraphNodeGetType, _v10000, (cudaGraphNode_t node, cudaGraphNodeType* type), (node, type)) {
  *type = to_node(node)->type;
  return cudaSuccess;
}

SIMGPU_API(cudaGraphInstantiate, _v12000, (cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags),
           (pGraphExec, graph, flags)) {
  return instantiate(pGraphExec, graph, flags);
}

SIMGPU_API(cudaGraphInstantiateWithFlags, _v11040,
           (cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags), (pGraphExec, graph, flags)) {
  return instantiate(pGraphExec, graph, flags);
}

// Accepts a graph of the same shape, as CUDA does.
SIMGPU_API(cudaGraphExecUpdate, _v10020,
           (cudaGraphExec_t handle, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result),
           (handle, graph, result)) {
  return SIMGPU_DRIVER_CALL(cuGraphExecUpdate_v2,
                            (handle, graph, reinterpret_cast<CUgraphExecUpdateResultInfo*>(result)), [&] {
                              const Timeline::Lock held = timeline().lock();
                              std::vector<GraphExec::Step> steps = flatten(*to_graph(graph));
                              GraphExec& exec = *to_exec(handle);
                              const auto same = [](const GraphExec::Step& a, const GraphExec::Step& b) {
                                return node_type(a.work) == node_type(b.work) && a.after == b.after;
                              };
                              *result = {};
                              if (!std::equal(steps.begin(), steps.end(), exec.steps.begin(), exec.steps.end(), same)) {
                                result->result = cudaGraphExecUpdateErrorTopologyChanged;
                                return cudaErrorGraphExecUpdateFailure;
                              }
                              for (std::size_t i = 0; i < steps.size(); ++i) steps[i].node = exec.steps[i].node;
                              exec.steps = std::move(steps);
                              return cudaSuccess;
                            });
}

SIMGPU_API(cudaGraphExecDestroy, _v10000, (cudaGraphExec_t handle), (handle)) {
  if (handle == nullptr) return cudaErrorInvalidValue;
  return SIMGPU_DRIVER_CALL(cuGraphExecDestroy, (handle), [&] {
    delete to_exec(handle);
    return cudaSuccess;
  });
}

SIMGPU_STREAM_API(cudaGraphUpload, _v10000, _ptsz, _v10000, (cudaGraphExec_t handle, cudaStream_t stream),
                  (handle, stream)) {
  return find_stream(stream, default_stream) != nullptr ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

SIMGPU_STREAM_API(cudaGraphLaunch, _v10000, _ptsz, _v10000, (cudaGraphExec_t handle, cudaStream_t stream_handle),
                  (handle, stream_handle)) {
  Stream* stream = find_stream(stream_handle, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const auto body = [&] {
    if (const cudaError_t error = refuse_during_capture(*stream)) return error;
    return launch_graph(*to_exec(handle), *stream);
  };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuGraphLaunch, _ptsz, (handle, stream_handle), body);
}

}  // namespace synctrace::simgpu
