// SPDX-License-Identifier: Apache-2.0
//
// The simulated runtime by itself: order, visibility of results, graphs, errors, fork.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "testing/kernels.h"

using namespace synctrace::simgpu_test;

namespace {

cudaStream_t make_stream(unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, flags) == cudaSuccess);
  return stream;
}

template <class T>
T* device_array(std::size_t count) {
  void* result = nullptr;
  REQUIRE(cudaMalloc(&result, count * sizeof(T)) == cudaSuccess);
  return static_cast<T*>(result);
}

}  // namespace

TEST_CASE("the device says that it is simulated") {
  cudaDeviceProp properties{};
  REQUIRE(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
  CHECK(std::string(properties.name).find("Simulated") != std::string::npos);
  CHECK(dlsym(RTLD_DEFAULT, "simgpu_is_simulated") != nullptr);
  int version = 0;
  CHECK(cudaRuntimeGetVersion(&version) == cudaSuccess);
  CHECK(version / 1000 == 13);
}

TEST_CASE("copies and memsets move bytes, in stream order") {
  const cudaStream_t stream = make_stream();
  std::vector<int> source(1 << 16);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<int>(i);
  std::vector<int> target(source.size(), -1);
  const std::size_t bytes = source.size() * sizeof(int);
  int* a = device_array<int>(source.size());
  int* b = device_array<int>(source.size());
  CHECK(cudaMemcpyAsync(a, source.data(), bytes, cudaMemcpyHostToDevice, stream) == cudaSuccess);
  CHECK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDefault, stream) == cudaSuccess);
  CHECK(cudaMemsetAsync(a, 0xff, bytes, stream) == cudaSuccess);
  CHECK(cudaMemcpyAsync(target.data(), b, bytes, cudaMemcpyDefault, stream) == cudaSuccess);
  CHECK(target == source);
  CHECK(cudaMemcpy(target.data(), a, bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(target == std::vector<int>(source.size(), -1));
  CHECK(cudaFree(a) == cudaSuccess);
  CHECK(cudaFree(b) == cudaSuccess);
}

TEST_CASE("a small pageable upload is staged: the source may change at once") {
  const cudaStream_t stream = make_stream();
  int* device = device_array<int>(1);
  int value = 7;
  REQUIRE(launch_spin(kKernelNs, stream) == cudaSuccess);
  CHECK(cudaMemcpyAsync(device, &value, sizeof value, cudaMemcpyHostToDevice, stream) == cudaSuccess);
  value = 8;
  int result = 0;
  CHECK(cudaMemcpyAsync(&result, device, sizeof result, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  CHECK(result == 7);
}

TEST_CASE("a rectangle is copied row by row") {
  std::size_t pitch = 0;
  void* device = nullptr;
  REQUIRE(cudaMallocPitch(&device, &pitch, 3, 2) == cudaSuccess);
  CHECK(pitch >= 3);
  const char source[] = "abc.def.";
  char target[] = "______";
  CHECK(cudaMemcpy2D(device, pitch, source, 4, 3, 2, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy2D(target, 3, device, pitch, 3, 2, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(std::string(target) == "abcdef");
}

TEST_CASE("a result in pinned memory appears without any further CUDA call") {
  const cudaStream_t stream = make_stream();
  void* pinned = nullptr;
  REQUIRE(cudaMallocHost(&pinned, sizeof(int)) == cudaSuccess);
  auto& flag = *static_cast<std::atomic<int>*>(pinned);
  flag = 0;
  int* device = device_array<int>(1);
  CHECK(cudaMemset(device, 1, sizeof(int)) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(cudaMemcpyAsync(pinned, device, sizeof(int), cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  while (flag.load() == 0) std::this_thread::yield();
  CHECK(flag.load() == 0x01010101);
}

TEST_CASE("an event orders two streams and measures the kernel between two records") {
  const cudaStream_t first = make_stream();
  const cudaStream_t second = make_stream();
  cudaEvent_t before = nullptr;
  cudaEvent_t after = nullptr;
  REQUIRE(cudaEventCreate(&before) == cudaSuccess);
  REQUIRE(cudaEventCreate(&after) == cudaSuccess);
  CHECK(cudaEventRecord(before, first) == cudaSuccess);
  CHECK(launch_spin(kKernelNs, first) == cudaSuccess);
  CHECK(cudaEventRecord(after, first) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(second, after, 0) == cudaSuccess);
  CHECK(launch_work(second) == cudaSuccess);
  CHECK(cudaStreamSynchronize(second) == cudaSuccess);
  CHECK(cudaEventQuery(after) == cudaSuccess);
  float elapsed = 0;
  CHECK(cudaEventElapsedTime(&elapsed, before, after) == cudaSuccess);
  CHECK(elapsed >= 20.0f);
}

TEST_CASE("the legacy stream waits for ordinary streams and they for it") {
  const cudaStream_t ordinary = make_stream(cudaStreamDefault);
  const cudaStream_t apart = make_stream();
  cudaEvent_t events[3];
  for (cudaEvent_t& event : events) REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  CHECK(launch_spin(kKernelNs, ordinary) == cudaSuccess);
  CHECK(launch_work(nullptr) == cudaSuccess);
  CHECK(cudaEventRecord(events[0], nullptr) == cudaSuccess);
  CHECK(launch_work(ordinary) == cudaSuccess);
  CHECK(cudaEventRecord(events[1], ordinary) == cudaSuccess);
  CHECK(launch_work(apart) == cudaSuccess);
  CHECK(cudaEventRecord(events[2], apart) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  float ordinary_after_legacy = 0;
  float legacy_after_apart = 0;
  CHECK(cudaEventElapsedTime(&ordinary_after_legacy, events[0], events[1]) == cudaSuccess);
  CHECK(cudaEventElapsedTime(&legacy_after_apart, events[2], events[0]) == cudaSuccess);
  CHECK(ordinary_after_legacy > 0);
  CHECK(legacy_after_apart > 0);
}

TEST_CASE("work behind a host function waits until the function has returned") {
  const cudaStream_t stream = make_stream();
  static std::atomic<bool> release{false};
  static std::atomic<bool> returned{false};
  const cudaHostFn_t hold = [](void*) {
    while (!release) std::this_thread::yield();
    returned = true;
  };
  CHECK(cudaLaunchHostFunc(stream, hold, nullptr) == cudaSuccess);
  CHECK(launch_work(stream) == cudaSuccess);
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  CHECK(cudaEventRecord(event, stream) == cudaSuccess);
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  CHECK(cudaEventQuery(event) == cudaErrorNotReady);
  release = true;
  CHECK(cudaEventSynchronize(event) == cudaSuccess);
  CHECK(returned);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
}

TEST_CASE("a captured graph does its work at every launch and none before") {
  const cudaStream_t stream = make_stream();
  const cudaStream_t forked = make_stream();
  int* device = device_array<int>(1);
  void* pinned = nullptr;
  REQUIRE(cudaMallocHost(&pinned, sizeof(int)) == cudaSuccess);
  std::memset(pinned, 0, sizeof(int));
  cudaEvent_t fork = nullptr;
  cudaEvent_t join = nullptr;
  REQUIRE(cudaEventCreate(&fork) == cudaSuccess);
  REQUIRE(cudaEventCreate(&join) == cudaSuccess);
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaMemsetAsync(device, 5, sizeof(int), stream) == cudaSuccess);
  CHECK(cudaEventRecord(fork, stream) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(forked, fork, 0) == cudaSuccess);
  CHECK(launch_work(forked) == cudaSuccess);
  CHECK(cudaEventRecord(join, forked) == cudaSuccess);
  CHECK(launch_work(stream) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(stream, join, 0) == cudaSuccess);
  CHECK(cudaMemcpyAsync(pinned, device, sizeof(int), cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  std::size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 4);
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(*static_cast<int*>(pinned) == 0);
  for (int launch = 0; launch < 2; ++launch) {
    std::memset(pinned, 0, sizeof(int));
    CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(*static_cast<int*>(pinned) == 0x05050505);
  }
  CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}

TEST_CASE("synchronising a capturing stream fails and spoils the capture") {
  const cudaStream_t stream = make_stream();
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  CHECK(graph == nullptr);
  CHECK(cudaGetLastError() == cudaErrorStreamCaptureInvalidated);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("wrong arguments are refused") {
  int* device = device_array<int>(1);
  int host = 0;
  CHECK(cudaMemcpy(&host, device, sizeof host, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaFree(&host) == cudaErrorInvalidValue);
  CHECK(cudaSetDevice(99) == cudaErrorInvalidDevice);
  CHECK(cudaLaunchKernel(&host, dim3{1, 1, 1}, dim3{1, 1, 1}, nullptr, 0, nullptr) == cudaErrorInvalidDeviceFunction);
  void* huge = nullptr;
  CHECK(cudaMalloc(&huge, std::size_t{1} << 50) == cudaErrorMemoryAllocation);
  CHECK(std::string(cudaGetErrorName(cudaErrorMemoryAllocation)) == "cudaErrorMemoryAllocation");
}

TEST_CASE("threads use the device at once and each thread's work is done") {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int index = 0; index < 8; ++index) {
    threads.emplace_back([&right, index] {
      cudaStream_t stream = nullptr;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      void* device = nullptr;
      cudaMalloc(&device, sizeof(int));
      for (int round = 0; round < 200; ++round) {
        int value = index * 1000 + round;
        int result = -1;
        cudaMemcpyAsync(device, &value, sizeof value, cudaMemcpyHostToDevice, stream);
        launch_work(stream);
        cudaMemcpyAsync(&result, device, sizeof result, cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
        if (result == value) ++right;
      }
      cudaFree(device);
      cudaStreamDestroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 8 * 200);
}

TEST_CASE("a forked child cannot use CUDA, does not hang, and exits cleanly") {
  REQUIRE(cudaFree(nullptr) == cudaSuccess);
  REQUIRE(launch_spin(kKernelNs, nullptr) == cudaSuccess);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    void* memory = nullptr;
    const bool refused = cudaMalloc(&memory, 64) == cudaErrorInitializationError &&
                         cudaDeviceSynchronize() == cudaErrorInitializationError;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("SIMGPU_FAIL makes exactly the named call fail", "[.fail]") {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 64) == cudaSuccess);
  CHECK(cudaMalloc(&memory, 64) == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&memory, 64) == cudaSuccess);
}

TEST_CASE("SIMGPU_DEVICES=0 is a machine without a GPU", "[.no-device]") {
  int count = -1;
  CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
  CHECK(count == 0);
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 64) == cudaErrorNoDevice);
}
