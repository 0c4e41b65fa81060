// SPDX-License-Identifier: Apache-2.0
//
// Versions, names, ids, and the switches of a real CUPTI that change nothing here.
#include "cupti/state.h"

namespace synctrace::simgpu {
namespace {

struct Name {
  std::uint32_t number;
  const char* text;
};

// Generated from CUPTI's headers when the simulated GPU is built.
constexpr Name kResults[] = {
#include "cupti_result_names.inc"
};
constexpr Name kRuntimeCallbacks[] = {
#include "runtime_callback_names.inc"
};
constexpr Name kDriverCallbacks[] = {
#include "driver_callback_names.inc"
};
constexpr Name kResourceCallbacks[] = {
    {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, "CONTEXT_CREATED"},
    {CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, "CONTEXT_DESTROY_STARTING"},
    {CUPTI_CBID_RESOURCE_STREAM_CREATED, "STREAM_CREATED"},
    {CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, "STREAM_DESTROY_STARTING"},
    {CUPTI_CBID_RESOURCE_MODULE_LOADED, "MODULE_LOADED"},
    {CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, "GRAPHEXEC_CREATED"},
};

template <std::size_t count>
const char* find(const Name (&names)[count], std::uint32_t number) {
  for (const Name& name : names) {
    if (name.number == number) return name.text;
  }
  return nullptr;
}

const char* find_callback(CUpti_CallbackDomain domain, std::uint32_t cbid) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_RUNTIME_API: return find(kRuntimeCallbacks, cbid);
    case CUPTI_CB_DOMAIN_DRIVER_API: return find(kDriverCallbacks, cbid);
    case CUPTI_CB_DOMAIN_RESOURCE: return find(kResourceCallbacks, cbid);
    default: return nullptr;
  }
}

// Runs `ask` on the runtime; its 0 means found.
template <class Ask>
CUptiResult ask_runtime(CUptiResult unknown, Ask ask) {
  const SimgpuRuntime* simulated = runtime();
  if (simulated == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  return ask(*simulated) == 0 ? CUPTI_SUCCESS : unknown;
}

CUptiResult name_result(CUptiResult result, const char** text) {
  if (text == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *text = find(kResults, static_cast<std::uint32_t>(result));
  return *text != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

}  // namespace

SIMGPU_EXPORT CUptiResult cuptiGetVersion(uint32_t* version) {
  static const std::uint64_t number = environment_number("SIMGPU_CUPTI_VERSION", CUPTI_API_VERSION);
  if (version == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = static_cast<std::uint32_t>(number);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  return name_result(result, text);
}

SIMGPU_EXPORT CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** text) {
  return name_result(result, text);
}

SIMGPU_EXPORT CUptiResult cuptiGetLastError() { return CUPTI_SUCCESS; }

SIMGPU_EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
  if (name == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const char* found = find_callback(domain, cbid);
  if (found == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = found;
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  return ask_runtime(CUPTI_ERROR_INVALID_CONTEXT,
                     [&](const SimgpuRuntime& simulated) { return simulated.context_id(context, id); });
}

SIMGPU_EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  return ask_runtime(CUPTI_ERROR_INVALID_CONTEXT,
                     [&](const SimgpuRuntime& simulated) { return simulated.context_device(context, id); });
}

SIMGPU_EXPORT CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t* id) {
  return ask_runtime(CUPTI_ERROR_INVALID_STREAM, [&](const SimgpuRuntime& simulated) {
    return simulated.stream_id(context, stream, per_thread, id);
  });
}

SIMGPU_EXPORT CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* id) {
  return cuptiGetStreamIdEx(context, stream, 0, id);
}

SIMGPU_EXPORT CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t* id) {
  if (graph == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  return ask_runtime(CUPTI_ERROR_INVALID_PARAMETER,
                     [&](const SimgpuRuntime& simulated) { return simulated.graph_id(graph, id); });
}

SIMGPU_EXPORT CUptiResult cuptiGetGraphExecId(CUgraphExec graph, uint32_t* id) {
  if (graph == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  return ask_runtime(CUPTI_ERROR_INVALID_PARAMETER,
                     [&](const SimgpuRuntime& simulated) { return simulated.graph_exec_id(graph, id); });
}

SIMGPU_EXPORT CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  if (node == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  return ask_runtime(CUPTI_ERROR_INVALID_PARAMETER,
                     [&](const SimgpuRuntime& simulated) { return simulated.graph_node_id(node, id); });
}

SIMGPU_EXPORT CUptiResult cuptiDeviceSupported(CUdevice, int* support) {
  *support = 1;
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t) { return CUPTI_SUCCESS; }

SIMGPU_EXPORT CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t) { return CUPTI_SUCCESS; }

SIMGPU_EXPORT CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t) { return CUPTI_SUCCESS; }

// Newer hardware only, as on a real H200.
SIMGPU_EXPORT CUptiResult cuptiActivityEnableHWTrace(uint8_t) { return CUPTI_ERROR_NOT_SUPPORTED; }

// Every kind off for good; what was recorded stays readable until the tool flushes.
SIMGPU_EXPORT CUptiResult cuptiFinalize() {
  for (int kind = CUPTI_ACTIVITY_KIND_INVALID + 1; kind < CUPTI_ACTIVITY_KIND_COUNT; ++kind) {
    cuptiActivityDisable(static_cast<CUpti_ActivityKind>(kind));
  }
  return CUPTI_SUCCESS;
}

}  // namespace synctrace::simgpu
