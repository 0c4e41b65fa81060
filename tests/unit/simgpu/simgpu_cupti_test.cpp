// SPDX-License-Identifier: Apache-2.0
//
// The simulated CUPTI as a tool sees it: callbacks, records, buffers, the one subscriber.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <vector>

#include "support/catch.h"
#include "testing/kernels.h"

using namespace synctrace::simgpu_test;

namespace {

struct SeenCall {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId cbid;
  CUpti_ApiCallbackSite site;
  std::string function;
  std::string symbol;
  std::uint32_t correlation;
  std::uint64_t data;
  int result;
};

// What the tool side of the test has collected; callbacks and the worker thread add to it.
struct Tool {
  std::mutex mutex;
  std::vector<SeenCall> calls;
  std::vector<CUpti_ActivityKernel10> kernels;
  std::vector<CUpti_ActivityMemcpy6> copies;
  std::vector<CUpti_ActivityMemcpyPtoP4> peer_copies;
  std::vector<CUpti_ActivitySynchronization2> synchronizations;
  std::vector<CUpti_ActivityGraphTrace2> graphs;
  std::vector<CUpti_ActivityDevice5> devices;
  std::size_t buffer_bytes = 64 * 1024;
  bool refuse = false;
  CUpti_SubscriberHandle subscriber = nullptr;
};

Tool& tool() {
  static Tool& instance = *new Tool;
  return instance;
}

void on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* raw) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(raw);
  if (call.callbackSite == CUPTI_API_ENTER) *call.correlationData = 100u + call.correlationId;
  const std::lock_guard<std::mutex> held(tool().mutex);
  tool().calls.push_back({domain, cbid, call.callbackSite, call.functionName,
                          call.symbolName != nullptr ? call.symbolName : "", call.correlationId, *call.correlationData,
                          call.functionReturnValue != nullptr ? *static_cast<int*>(call.functionReturnValue) : -1});
}

void on_request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *bytes = tool().buffer_bytes;
  *max_records = 0;
  *buffer = tool().refuse ? nullptr : static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
}

template <class Record>
void keep(std::vector<Record>& list, const CUpti_Activity* record) {
  list.push_back(*reinterpret_cast<const Record*>(record));
}

void on_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::lock_guard<std::mutex> held(tool().mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: keep(tool().kernels, record); break;
      case CUPTI_ACTIVITY_KIND_MEMCPY: keep(tool().copies, record); break;
      case CUPTI_ACTIVITY_KIND_MEMCPY2: keep(tool().peer_copies, record); break;
      case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: keep(tool().synchronizations, record); break;
      case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: keep(tool().graphs, record); break;
      case CUPTI_ACTIVITY_KIND_DEVICE: keep(tool().devices, record); break;
      default: break;
    }
  }
  std::free(buffer);
}

std::uint64_t monotonic_clock() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

// Subscribes once for the process and forgets what earlier tests have seen.
void start() {
  if (tool().subscriber == nullptr) {
    REQUIRE(cuptiSubscribe(&tool().subscriber, on_callback, nullptr) == CUPTI_SUCCESS);
    REQUIRE(cuptiActivityRegisterTimestampCallback(monotonic_clock) == CUPTI_SUCCESS);
    REQUIRE(cuptiActivityRegisterCallbacks(on_request, on_complete) == CUPTI_SUCCESS);
    for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                          CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION}) {
      REQUIRE(cuptiActivityEnable(kind) == CUPTI_SUCCESS);
    }
    for (const CUpti_CallbackDomain domain :
         {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RESOURCE}) {
      REQUIRE(cuptiEnableDomain(1, tool().subscriber, domain) == CUPTI_SUCCESS);
    }
  }
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  REQUIRE(cuptiActivityFlushAll(0) == CUPTI_SUCCESS);
  std::size_t dropped = 0;
  REQUIRE(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS);
  const std::lock_guard<std::mutex> held(tool().mutex);
  tool().calls.clear();
  tool().kernels.clear();
  tool().copies.clear();
  tool().synchronizations.clear();
  tool().graphs.clear();
}

void flush() { REQUIRE(cuptiActivityFlushAll(0) == CUPTI_SUCCESS); }

}  // namespace

TEST_CASE("a launch is four callbacks with one correlation id, and one kernel record") {
  start();
  REQUIRE(launch_work(nullptr) == cudaSuccess);
  const std::vector<SeenCall> calls = tool().calls;
  REQUIRE(calls.size() == 4);
  CHECK(calls[0].domain == CUPTI_CB_DOMAIN_RUNTIME_API);
  CHECK(calls[0].cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  CHECK(calls[0].site == CUPTI_API_ENTER);
  CHECK(calls[0].function == "cudaLaunchKernel");
  CHECK(calls[0].symbol == "_Z4workv");
  CHECK(calls[1].domain == CUPTI_CB_DOMAIN_DRIVER_API);
  CHECK(calls[1].cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  CHECK(calls[2].site == CUPTI_API_EXIT);
  CHECK(calls[3].domain == CUPTI_CB_DOMAIN_RUNTIME_API);
  CHECK(calls[3].result == 0);
  for (const SeenCall& call : calls) {
    CHECK(call.correlation == calls[0].correlation);
    CHECK(call.data == 100u + call.correlation);
  }
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  flush();
  REQUIRE(tool().kernels.size() == 1);
  const CUpti_ActivityKernel10 kernel = tool().kernels[0];
  CHECK(std::string(kernel.name) == "_Z4workv");
  CHECK(kernel.correlationId == calls[0].correlation);
  CHECK(kernel.gridY == 3);
  CHECK(kernel.blockX == 32);
  CHECK(kernel.end > kernel.start);
}

TEST_CASE("records carry the tool's clock, and a kernel ends before its synchronisation does") {
  start();
  const std::uint64_t before = monotonic_clock();
  REQUIRE(launch_spin(kKernelNs, nullptr) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const std::uint64_t after = monotonic_clock();
  flush();
  REQUIRE(tool().kernels.size() == 1);
  const CUpti_ActivityKernel10 kernel = tool().kernels[0];
  CHECK(kernel.start >= before);
  CHECK(kernel.end <= after);
  CHECK(kernel.end - kernel.start == static_cast<std::uint64_t>(kKernelNs));
  REQUIRE(tool().synchronizations.size() == 1);
  CHECK(tool().synchronizations[0].type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
  CHECK(tool().synchronizations[0].end >= kernel.end);
}

TEST_CASE("only explicit synchronisations leave a SYNCHRONIZATION record") {
  start();
  void* device = nullptr;
  int host = 0;
  REQUIRE(cudaMalloc(&device, sizeof host) == cudaSuccess);
  REQUIRE(cudaMemcpy(device, &host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(&host, device, sizeof host, cudaMemcpyDeviceToHost, nullptr) == cudaSuccess);
  REQUIRE(cudaFree(device) == cudaSuccess);
  flush();
  CHECK(tool().synchronizations.empty());
  REQUIRE(tool().copies.size() == 2);
  CHECK(tool().copies[0].copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
  CHECK(tool().copies[0].srcKind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
  CHECK(tool().copies[0].flags == 0);
  CHECK(tool().copies[1].copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
  CHECK(tool().copies[1].bytes == sizeof host);
  CHECK(tool().copies[1].flags == CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
}

TEST_CASE("a flush keeps a buffer with a running kernel; a forced one gives it with end 0") {
  start();
  REQUIRE(launch_spin(10 * kKernelNs, nullptr) == cudaSuccess);
  flush();
  CHECK(tool().kernels.empty());
  REQUIRE(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS);
  REQUIRE(tool().kernels.size() == 1);
  CHECK(tool().kernels[0].end == 0);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  flush();
  CHECK(tool().kernels.size() == 1);
}

TEST_CASE("every launch leaves its record, over many buffers") {
  start();
  constexpr std::size_t kLaunches = 20'000;
  for (std::size_t i = 0; i < kLaunches; ++i) REQUIRE(launch_work(nullptr) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  flush();
  REQUIRE(tool().kernels.size() == kLaunches);
  std::vector<std::uint32_t> correlations;
  for (const auto& kernel : tool().kernels) correlations.push_back(kernel.correlationId);
  std::sort(correlations.begin(), correlations.end());
  CHECK(std::adjacent_find(correlations.begin(), correlations.end()) == correlations.end());
}

TEST_CASE("a refused buffer drops records and counts them") {
  start();
  tool().refuse = true;
  for (int i = 0; i < 5; ++i) REQUIRE(launch_work(nullptr) == cudaSuccess);
  tool().refuse = false;
  std::size_t dropped = 0;
  REQUIRE(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS);
  CHECK(dropped == 5);
  REQUIRE(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS);
  CHECK(dropped == 0);
}

TEST_CASE("a graph is node records, or one GRAPH_TRACE record where that kind is on") {
  start();
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  for (int i = 0; i < 3; ++i) REQUIRE(launch_spin(kKernelNs / 10, stream) == cudaSuccess);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  flush();
  std::uint32_t id = 0;
  REQUIRE(cuptiGetGraphExecId(exec, &id) == CUPTI_SUCCESS);
  REQUIRE(tool().kernels.size() == 3);
  for (const auto& kernel : tool().kernels) CHECK(kernel.graphId == id);
  CHECK(tool().kernels[0].graphNodeId != tool().kernels[1].graphNodeId);
  CHECK(tool().kernels[0].correlationId == tool().kernels[1].correlationId);

  // The graph is made with the kind on: if it is switched behind a graph, the process ends, like with a GPU.
  REQUIRE(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) == CUPTI_SUCCESS);
  REQUIRE(cudaGraphExecDestroy(exec) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  REQUIRE(cuptiGetGraphExecId(exec, &id) == CUPTI_SUCCESS);
  REQUIRE(cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  flush();
  REQUIRE(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) == CUPTI_SUCCESS);
  CHECK(tool().kernels.size() == 3);
  REQUIRE(tool().graphs.size() == 1);
  CHECK(tool().graphs[0].graphId == id);
  CHECK(tool().graphs[0].end - tool().graphs[0].start == 3 * static_cast<std::uint64_t>(kKernelNs / 10));
}

TEST_CASE("MEMCPY, MEMCPY2, GRAPH_TRACE and a flush break a graph, any three of them do not", "[.broken-graphs]") {
  constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                           CUPTI_ACTIVITY_KIND_GRAPH_TRACE};
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(launch_work(stream) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  const auto launch = [&] {
    cudaGraphExec_t exec = nullptr;
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    const cudaError_t result = cudaGraphLaunch(exec, stream);
    REQUIRE(cudaGraphExecDestroy(exec) == cudaSuccess);
    return result;
  };
  for (const CUpti_ActivityKind kind : kKinds) REQUIRE(cuptiActivityEnable(kind) == CUPTI_SUCCESS);
  CHECK(launch() == cudaSuccess);  // no flush yet
  flush();
  CHECK(launch() == cudaErrorLaunchFailure);
  for (const CUpti_ActivityKind kind : kKinds) {
    REQUIRE(cuptiActivityDisable(kind) == CUPTI_SUCCESS);
    CHECK(launch() == cudaSuccess);
    REQUIRE(cuptiActivityEnable(kind) == CUPTI_SUCCESS);
  }
}

TEST_CASE("a copy between devices leaves a MEMCPY2 record with MEMCPY or MEMCPY2 on", "[.peer-copies]") {
  start();
  void* memory[2] = {};
  for (int device = 0; device < 2; ++device) {
    REQUIRE(cudaSetDevice(device) == cudaSuccess);
    REQUIRE(cudaMalloc(&memory[device], 64) == cudaSuccess);
  }
  const auto copy = [&] {
    tool().peer_copies.clear();
    tool().copies.clear();
    REQUIRE(cudaMemcpyPeer(memory[1], 1, memory[0], 0, 64) == cudaSuccess);
    REQUIRE(cudaMemcpyPeerAsync(memory[0], 0, memory[1], 1, 64, nullptr) == cudaSuccess);
    REQUIRE(cudaMemcpyAsync(memory[1], memory[0], 64, cudaMemcpyDefault, nullptr) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    flush();
    CHECK(tool().copies.empty());
    return tool().peer_copies.size();
  };
  REQUIRE(copy() == 3);
  CHECK(tool().peer_copies[0].srcDeviceId == 0);
  CHECK(tool().peer_copies[0].dstDeviceId == 1);
  CHECK(tool().peer_copies[1].dstDeviceId == 0);
  CHECK(tool().peer_copies[2].copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
  REQUIRE(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY2) == CUPTI_SUCCESS);
  CHECK(copy() == 3);
  REQUIRE(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY) == CUPTI_SUCCESS);
  CHECK(copy() == 3);
  REQUIRE(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY2) == CUPTI_SUCCESS);
  CHECK(copy() == 0);
}

TEST_CASE("single callbacks can be switched, and names are known") {
  start();
  const CUpti_CallbackDomain domain = CUPTI_CB_DOMAIN_RUNTIME_API;
  const CUpti_CallbackId launch = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  REQUIRE(cuptiEnableCallback(0, tool().subscriber, domain, launch) == CUPTI_SUCCESS);
  REQUIRE(launch_work(nullptr) == cudaSuccess);
  REQUIRE(cuptiEnableCallback(1, tool().subscriber, domain, launch) == CUPTI_SUCCESS);
  CHECK(tool().calls.size() == 2);  // the driver's
  const char* name = nullptr;
  REQUIRE(cuptiGetCallbackName(domain, launch, &name) == CUPTI_SUCCESS);
  CHECK(std::string(name) == "cudaLaunchKernel_v7000");
}

TEST_CASE("a second subscriber is refused and learns who the first one is") {
  start();
  CUpti_SubscriberHandle other = nullptr;
  char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "second";
  parameters.oldSubscriberName = holder;
  parameters.oldSubscriberSize = sizeof holder;
  CHECK(cuptiSubscribe_v2(&other, on_callback, nullptr, &parameters) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  CHECK(std::string(holder).size() > 0);
}

TEST_CASE("the device is described once") {
  start();
  REQUIRE(tool().devices.size() == 1);
  CHECK(std::string(tool().devices[0].name).find("Simulated") != std::string::npos);
}

TEST_CASE("SIMGPU_SUBSCRIBER_TAKEN names the holder of the slot", "[.subscriber-taken]") {
  CUpti_SubscriberHandle other = nullptr;
  char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.oldSubscriberName = holder;
  parameters.oldSubscriberSize = sizeof holder;
  CHECK(cuptiSubscribe_v2(&other, on_callback, nullptr, &parameters) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  CHECK(std::string(holder) == "nsys");
}

TEST_CASE("SIMGPU_CUPTI_VERSION and SIMGPU_DROP_BUFFERS do what they say", "[.drop-buffers]") {
  std::uint32_t version = 0;
  REQUIRE(cuptiGetVersion(&version) == CUPTI_SUCCESS);
  CHECK(version == 28);
  start();
  for (int i = 0; i < 3; ++i) REQUIRE(launch_work(nullptr) == cudaSuccess);
  REQUIRE(cudaStreamQuery(nullptr) != cudaErrorUnknown);
  while (cudaStreamQuery(nullptr) == cudaErrorNotReady) {
  }
  flush();
  CHECK(tool().kernels.empty());
  std::size_t dropped = 0;
  REQUIRE(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS);
  CHECK(dropped >= 3);
}

TEST_CASE("a tool named by CUDA_INJECTION64_PATH is loaded once, before any context", "[.injection]") {
  void* probe = dlopen(std::getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
  CHECK(probe == nullptr);
  REQUIRE(cudaFree(nullptr) == cudaSuccess);
  REQUIRE(cudaFree(nullptr) == cudaSuccess);
  probe = dlopen(std::getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(probe != nullptr);
  const auto* calls = static_cast<const int*>(dlsym(probe, "injection_calls"));
  REQUIRE(calls != nullptr);
  CHECK(*calls == 1);
}
