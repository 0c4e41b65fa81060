// SPDX-License-Identifier: Apache-2.0
//
// The simulated GPU keeps the table "Which calls block the host" (tests/simgpu/README.md): every
// row, with a kernel of 20 ms in flight on a non-blocking stream and on an ordinary one.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "support/catch.h"
#include "testing/kernels.h"

using namespace synctrace::simgpu_test;

namespace {

constexpr std::size_t kSmall = 64;
constexpr std::size_t kLarge = 8u << 20;

struct Memory {
  std::vector<char> pageable = std::vector<char>(kLarge);
  char* pinned = nullptr;
  char* device = nullptr;
  char* other = nullptr;

  Memory() {
    REQUIRE(cudaMallocHost(reinterpret_cast<void**>(&pinned), kLarge) == cudaSuccess);
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&device), kLarge) == cudaSuccess);
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&other), kLarge) == cudaSuccess);
    void* warm = nullptr;  // the first asynchronous allocation creates the pool
    REQUIRE(cudaMallocAsync(&warm, kSmall, nullptr) == cudaSuccess);
    REQUIRE(cudaFreeAsync(warm, nullptr) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  }
  ~Memory() {
    cudaFreeHost(pinned);
    cudaFree(device);
    cudaFree(other);
  }
};

using Call = std::function<cudaError_t(Memory&, cudaStream_t)>;

struct Row {
  std::string name;
  bool blocks_non_blocking;
  bool blocks_ordinary;
  Call call;
  std::function<void(Memory&)> before = [](Memory&) {};
  std::function<void(Memory&)> after = [](Memory&) {};
};

void* scratch = nullptr;

std::vector<Row> table() {
  const auto copy = [](bool to_device, bool pinned, std::size_t bytes) {
    return Call([=](Memory& memory, cudaStream_t) {
      char* host = pinned ? memory.pinned : memory.pageable.data();
      return to_device ? cudaMemcpy(memory.device, host, bytes, cudaMemcpyHostToDevice)
                       : cudaMemcpy(host, memory.device, bytes, cudaMemcpyDeviceToHost);
    });
  };
  const auto copy_async = [](bool to_device, bool pinned, std::size_t bytes) {
    return Call([=](Memory& memory, cudaStream_t stream) {
      char* host = pinned ? memory.pinned : memory.pageable.data();
      return to_device ? cudaMemcpyAsync(memory.device, host, bytes, cudaMemcpyHostToDevice, stream)
                       : cudaMemcpyAsync(host, memory.device, bytes, cudaMemcpyDeviceToHost, stream);
    });
  };
  const auto allocate_device = [](Memory&) { cudaMalloc(&scratch, kSmall); };
  const auto allocate_host = [](Memory&) { cudaMallocHost(&scratch, kSmall); };
  static std::vector<char> registered(kLarge);
  const auto register_host = [](Memory&) { cudaHostRegister(registered.data(), registered.size(), 0); };
  const auto nothing = [](Memory&) {};
  const auto release_device = [](Memory&) { cudaFree(scratch); };
  const auto release_host = [](Memory&) { cudaFreeHost(scratch); };
  const Call free_device = [](Memory&, cudaStream_t) { return cudaFree(scratch); };
  return {
      {"cudaStreamSynchronize", true, true, [](Memory&, cudaStream_t stream) { return cudaStreamSynchronize(stream); }},
      {"cudaDeviceSynchronize", true, true, [](Memory&, cudaStream_t) { return cudaDeviceSynchronize(); }},
      {"cudaMemcpy H2D pageable 64 B", false, true, copy(true, false, kSmall)},
      {"cudaMemcpy H2D pageable 8 MiB", false, true, copy(true, false, kLarge)},
      {"cudaMemcpy H2D pinned 64 B", false, true, copy(true, true, kSmall)},
      {"cudaMemcpy H2D pinned 8 MiB", false, true, copy(true, true, kLarge)},
      {"cudaMemcpy D2H pageable 64 B", false, true, copy(false, false, kSmall)},
      {"cudaMemcpy D2H pinned 8 MiB", false, true, copy(false, true, kLarge)},
      {"cudaMemcpy D2D", false, false,
       [](Memory& memory, cudaStream_t) {
         return cudaMemcpy(memory.other, memory.device, kLarge, cudaMemcpyDeviceToDevice);
       }},
      {"cudaMemset", false, false, [](Memory& memory, cudaStream_t) { return cudaMemset(memory.device, 1, kLarge); }},
      {"cudaMemcpyAsync H2D pageable 64 B", false, false, copy_async(true, false, kSmall)},
      {"cudaMemcpyAsync H2D pageable 8 MiB", true, true, copy_async(true, false, kLarge)},
      {"cudaMemcpyAsync D2H pageable 8 B", true, true, copy_async(false, false, 8)},
      {"cudaMemcpyAsync D2H pageable 8 MiB", true, true, copy_async(false, false, kLarge)},
      {"cudaMemcpyAsync H2D pinned", false, false, copy_async(true, true, kLarge)},
      {"cudaMemcpyAsync D2H pinned", false, false, copy_async(false, true, kLarge)},
      {"cudaMalloc 64 MiB", false, false, [](Memory&, cudaStream_t) { return cudaMalloc(&scratch, 64u << 20); },
       nothing, release_device},
      {"cudaFree", true, true, free_device, allocate_device},
      {"cudaMallocAsync", false, false,
       [](Memory&, cudaStream_t stream) { return cudaMallocAsync(&scratch, kSmall, stream); }, nothing, release_device},
      {"cudaMallocHost 8 MiB", false, false, [](Memory&, cudaStream_t) { return cudaMallocHost(&scratch, kLarge); },
       nothing, release_host},
      {"cudaFreeHost", true, true, [](Memory&, cudaStream_t) { return cudaFreeHost(scratch); }, allocate_host},
      {"cudaHostRegister 8 MiB", false, false,
       [](Memory&, cudaStream_t) { return cudaHostRegister(registered.data(), registered.size(), 0); }, nothing,
       [](Memory&) { cudaHostUnregister(registered.data()); }},
      {"cudaHostUnregister", true, true, [](Memory&, cudaStream_t) { return cudaHostUnregister(registered.data()); },
       register_host},
      {"cudaStreamCreate", false, false,
       [](Memory&, cudaStream_t) {
         cudaStream_t stream = nullptr;
         return cudaStreamCreate(&stream);
       }},
      {"cudaEventRecord and cudaEventDestroy", false, false,
       [](Memory&, cudaStream_t stream) {
         cudaEvent_t event = nullptr;
         cudaEventCreate(&event);
         cudaEventRecord(event, stream);
         return cudaEventDestroy(event);
       }},
      {"cudaStreamQuery", false, false,
       [](Memory&, cudaStream_t stream) {
         return cudaStreamQuery(stream) == cudaErrorNotReady ? cudaSuccess : cudaErrorUnknown;
       }},
      {"cudaMemGetInfo", false, false,
       [](Memory&, cudaStream_t) {
         std::size_t free = 0;
         std::size_t total = 0;
         return cudaMemGetInfo(&free, &total);
       }},
      {"kernel launch in the legacy stream", false, false, [](Memory&, cudaStream_t) { return launch_work(nullptr); }},
  };
}

// A call blocked if the kernel was over when it returned. A call that blocks does so every time;
// one that does not is caught in the act at least once, unless the machine stalls for 20 ms in
// every attempt: where none is expected to block there are many.
bool blocks(const Row& row, Memory& memory, unsigned stream_flags, bool expected) {
  bool caught_running = false;
  for (int attempt = 0; attempt < (expected ? 4 : 40) && !caught_running; ++attempt) {
    cudaStream_t stream = nullptr;
    REQUIRE(cudaStreamCreateWithFlags(&stream, stream_flags) == cudaSuccess);
    row.before(memory);
    REQUIRE(launch_spin(kKernelNs, stream) == cudaSuccess);
    CHECK(row.call(memory, stream) == cudaSuccess);
    caught_running = cudaStreamQuery(stream) == cudaErrorNotReady;
    cudaGetLastError();
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    row.after(memory);
    REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  }
  return !caught_running;
}

}  // namespace

TEST_CASE("every call blocks the host exactly where a real GPU blocks it") {
  Memory memory;
  for (const Row& row : table()) {
    INFO(row.name);
    CHECK(blocks(row, memory, cudaStreamNonBlocking, row.blocks_non_blocking) == row.blocks_non_blocking);
    CHECK(blocks(row, memory, cudaStreamDefault, row.blocks_ordinary) == row.blocks_ordinary);
  }
}

TEST_CASE("cudaEventSynchronize waits for the work before the event and for no more") {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  REQUIRE(launch_spin(kKernelNs, stream) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, stream) == cudaSuccess);
  REQUIRE(launch_spin(20 * kKernelNs, stream) == cudaSuccess);
  CHECK(cudaEventSynchronize(event) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaSuccess);
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaErrorNotReady);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
}
