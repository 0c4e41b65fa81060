// SPDX-License-Identifier: Apache-2.0
// Which calls make the host wait? For each call (row) and each kind of stream in flight (column): a kernel of 20 ms is
// launched, then the call is made once, inside an NVTX range "row/column", and the host's own clock says whether it
// came back before the kernel was over. Six times each; the median decides. This is the ground truth that a trace of
// the same run is compared with.
//
// blocking_calls [--row NAME] [--column nonblocking|ordinary] [--list]
// stdout: JSON, one object per cell. `expected` is what was measured on an H200 with CUDA 13.0.
#include <algorithm>
#include <functional>
#include <string>
#include <thread>

#include "example.h"
#include "spin.h"

namespace {

constexpr long long kKernelNs = 20 * kMillisecond;
constexpr int kRepetitions = 6;
constexpr std::size_t kSmall = 64;
constexpr std::size_t kLarge = 8 << 20;

// What a call may use; made once, before anything is in flight.
struct Fixture {
  cudaStream_t stream;        // the one with the kernel
  cudaStream_t spare_stream;  // for destroy; made anew by `before`
  cudaEvent_t event;          // recorded behind the kernel
  cudaEvent_t spare_event;
  unsigned char* device;
  unsigned char* device_too;
  unsigned char* pageable;
  unsigned char* pinned;
  void* victim;  // what the call frees, or has allocated
};

using Action = std::function<void(Fixture&)>;
void nothing(Fixture&) {}

struct Row {
  const char* name;
  const char* call;
  bool blocks_nonblocking;
  bool blocks_ordinary;
  Action run;
  Action before = nothing;  // with nothing in flight
  Action after = nothing;
};

__global__ void empty() {}

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  CHECK(cudaMemcpy(to, from, bytes, kind));
}
void copy_async(Fixture& f, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  CHECK(cudaMemcpyAsync(to, from, bytes, kind, f.stream));
}

constexpr cudaMemcpyKind kUp = cudaMemcpyHostToDevice;
constexpr cudaMemcpyKind kDown = cudaMemcpyDeviceToHost;

std::vector<Row> explicit_rows() {
  return {
      {"stream_sync", "cudaStreamSynchronize", true, true, [](Fixture& f) { CHECK(cudaStreamSynchronize(f.stream)); }},
      {"device_sync", "cudaDeviceSynchronize", true, true, [](Fixture&) { CHECK(cudaDeviceSynchronize()); }},
      {"event_sync", "cudaEventSynchronize", true, true, [](Fixture& f) { CHECK(cudaEventSynchronize(f.event)); }},
  };
}

std::vector<Row> copy_rows() {
  return {
      {"memcpy_h2d_pageable_64B", "cudaMemcpy", false, true,
       [](Fixture& f) { copy(f.device, f.pageable, kSmall, kUp); }},
      {"memcpy_h2d_pageable_8MiB", "cudaMemcpy", false, true,
       [](Fixture& f) { copy(f.device, f.pageable, kLarge, kUp); }},
      {"memcpy_h2d_pinned_64B", "cudaMemcpy", false, true, [](Fixture& f) { copy(f.device, f.pinned, kSmall, kUp); }},
      {"memcpy_h2d_pinned_8MiB", "cudaMemcpy", false, true, [](Fixture& f) { copy(f.device, f.pinned, kLarge, kUp); }},
      {"memcpy_d2h_pageable", "cudaMemcpy", false, true, [](Fixture& f) { copy(f.pageable, f.device, kLarge, kDown); }},
      {"memcpy_d2h_pinned", "cudaMemcpy", false, true, [](Fixture& f) { copy(f.pinned, f.device, kLarge, kDown); }},
      {"memcpy_d2d", "cudaMemcpy", false, false,
       [](Fixture& f) { copy(f.device_too, f.device, kLarge, cudaMemcpyDeviceToDevice); }},
      {"memset", "cudaMemset", false, false, [](Fixture& f) { CHECK(cudaMemset(f.device, 1, kLarge)); }},
      {"async_h2d_pageable_64B", "cudaMemcpyAsync", false, false,
       [](Fixture& f) { copy_async(f, f.device, f.pageable, kSmall, kUp); }},
      {"async_h2d_pageable_8MiB", "cudaMemcpyAsync", true, true,
       [](Fixture& f) { copy_async(f, f.device, f.pageable, kLarge, kUp); }},
      {"async_d2h_pageable_8B", "cudaMemcpyAsync", true, true,
       [](Fixture& f) { copy_async(f, f.pageable, f.device, 8, kDown); }},
      {"async_d2h_pageable_8MiB", "cudaMemcpyAsync", true, true,
       [](Fixture& f) { copy_async(f, f.pageable, f.device, kLarge, kDown); }},
      {"async_h2d_pinned_8MiB", "cudaMemcpyAsync", false, false,
       [](Fixture& f) { copy_async(f, f.device, f.pinned, kLarge, kUp); }},
      {"async_d2h_pinned_8MiB", "cudaMemcpyAsync", false, false,
       [](Fixture& f) { copy_async(f, f.pinned, f.device, kLarge, kDown); }},
  };
}

void allocate(Fixture& f) { CHECK(cudaMalloc(&f.victim, kLarge)); }
void allocate_host(Fixture& f) { CHECK(cudaMallocHost(&f.victim, kLarge)); }
void register_host(Fixture& f) { CHECK(cudaHostRegister(f.pageable, kLarge, cudaHostRegisterDefault)); }
void unregister_host(Fixture& f) { CHECK(cudaHostUnregister(f.pageable)); }

std::vector<Row> memory_rows() {
  return {
      {"malloc", "cudaMalloc", false, false, [](Fixture& f) { CHECK(cudaMalloc(&f.victim, 64 << 20)); }, nothing,
       [](Fixture& f) { CHECK(cudaFree(f.victim)); }},
      {"free", "cudaFree", true, true, [](Fixture& f) { CHECK(cudaFree(f.victim)); }, allocate},
      {"malloc_async", "cudaMallocAsync", false, false,
       [](Fixture& f) { CHECK(cudaMallocAsync(&f.victim, kLarge, f.stream)); }, nothing,
       [](Fixture& f) { CHECK(cudaFreeAsync(f.victim, f.stream)); }},
      {"malloc_host", "cudaMallocHost", false, false, [](Fixture& f) { CHECK(cudaMallocHost(&f.victim, kLarge)); },
       nothing, [](Fixture& f) { CHECK(cudaFreeHost(f.victim)); }},
      {"free_host", "cudaFreeHost", true, true, [](Fixture& f) { CHECK(cudaFreeHost(f.victim)); }, allocate_host},
      {"host_register", "cudaHostRegister", false, false, register_host, nothing, unregister_host},
      {"host_unregister", "cudaHostUnregister", true, true, unregister_host, register_host},
  };
}

std::vector<Row> other_rows() {
  return {
      {"stream_create", "cudaStreamCreateWithFlags", false, false,
       [](Fixture& f) { CHECK(cudaStreamCreateWithFlags(&f.spare_stream, cudaStreamNonBlocking)); }, nothing,
       [](Fixture& f) { CHECK(cudaStreamDestroy(f.spare_stream)); }},
      {"stream_destroy", "cudaStreamDestroy", false, false,
       [](Fixture& f) { CHECK(cudaStreamDestroy(f.spare_stream)); },
       [](Fixture& f) { CHECK(cudaStreamCreateWithFlags(&f.spare_stream, cudaStreamNonBlocking)); }},
      {"event_create", "cudaEventCreateWithFlags", false, false,
       [](Fixture& f) { CHECK(cudaEventCreateWithFlags(&f.spare_event, cudaEventDisableTiming)); }, nothing,
       [](Fixture& f) { CHECK(cudaEventDestroy(f.spare_event)); }},
      {"event_destroy", "cudaEventDestroy", false, false, [](Fixture& f) { CHECK(cudaEventDestroy(f.spare_event)); },
       [](Fixture& f) { CHECK(cudaEventCreateWithFlags(&f.spare_event, cudaEventDisableTiming)); }},
      {"stream_query", "cudaStreamQuery", false, false, [](Fixture& f) { cudaStreamQuery(f.stream); }},
      {"event_query", "cudaEventQuery", false, false, [](Fixture& f) { cudaEventQuery(f.event); }},
      {"mem_get_info", "cudaMemGetInfo", false, false,
       [](Fixture&) {
         std::size_t free = 0;
         std::size_t total = 0;
         CHECK(cudaMemGetInfo(&free, &total));
       }},
      {"pointer_get_attributes", "cudaPointerGetAttributes", false, false,
       [](Fixture& f) {
         cudaPointerAttributes attributes;
         CHECK(cudaPointerGetAttributes(&attributes, f.device));
       }},
      {"launch_legacy", "cudaLaunchKernel", false, false, [](Fixture&) { empty<<<1, 1>>>(); }},
  };
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (std::vector<Row> some : {explicit_rows(), copy_rows(), memory_rows(), other_rows()}) {
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

Fixture make_fixture(bool ordinary) {
  Fixture f{};
  CHECK(cudaStreamCreateWithFlags(&f.stream, ordinary ? cudaStreamDefault : cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&f.event, cudaEventDisableTiming));
  CHECK(cudaMalloc(&f.device, kLarge));
  CHECK(cudaMalloc(&f.device_too, kLarge));
  CHECK(cudaMallocHost(&f.pinned, kLarge));
  f.pageable = static_cast<unsigned char*>(std::aligned_alloc(4096, kLarge));
  std::memset(f.pageable, 1, kLarge);
  std::memset(f.pinned, 2, kLarge);
  return f;
}

// Waits without a call that this program examines, and too slowly to be taken for polling.
void drain(cudaStream_t stream) {
  while (cudaStreamQuery(stream) == cudaErrorNotReady) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  while (cudaStreamQuery(cudaStreamLegacy) == cudaErrorNotReady)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

struct Measured {
  double call_ms;
  double since_launch_ms;
};

Measured measure(Fixture& f, const Row& row, const char* range) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  row.before(f);
  drain(f.stream);
  const auto launched = std::chrono::steady_clock::now();
  spin_ns<<<1, 1, 0, f.stream>>>(kKernelNs);
  CHECK(cudaEventRecord(f.event, f.stream));
  nvtxRangePushA(range);
  const auto begin = std::chrono::steady_clock::now();
  row.run(f);
  const auto end = std::chrono::steady_clock::now();
  nvtxRangePop();
  drain(f.stream);
  row.after(f);
  drain(f.stream);
  return {Milliseconds(end - begin).count(), Milliseconds(end - launched).count()};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

void run_cell(Fixture& f, const Row& row, bool ordinary, bool& first) {
  const std::string range = std::string(row.name) + (ordinary ? "/ordinary" : "/nonblocking");
  std::vector<double> calls;
  std::vector<double> since_launch;
  for (int i = 0; i < kRepetitions; ++i) {
    const Measured measured = measure(f, row, range.c_str());
    calls.push_back(measured.call_ms);
    since_launch.push_back(measured.since_launch_ms);
  }
  // A call that waited ends after the kernel did, and took most of the kernel's time.
  const double kernel_ms = static_cast<double>(kKernelNs) / 1e6;
  const bool blocked = median(calls) > kernel_ms / 2 && median(since_launch) > 0.95 * kernel_ms;
  const bool expected = ordinary ? row.blocks_ordinary : row.blocks_nonblocking;
  std::printf(
      "%s\n  {\"row\": \"%s\", \"column\": \"%s\", \"call\": \"%s\", \"count\": %d, \"blocked\": %s, "
      "\"expected\": %s, \"median_ms\": %.3f}",
      first ? "" : ",", row.name, ordinary ? "ordinary" : "nonblocking", row.call, kRepetitions,
      blocked ? "true" : "false", expected ? "true" : "false", median(calls));
  first = false;
}

}  // namespace

int main(int argc, char** argv) {
  std::string wanted_row;
  std::string wanted_column;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--list") {
      for (const Row& row : all_rows()) std::printf("%s %s\n", row.name, row.call);
      return 0;
    }
    if (option == "--row" && i + 1 < argc) wanted_row = argv[++i];
    if (option == "--column" && i + 1 < argc) wanted_column = argv[++i];
  }
  bool first = true;
  std::printf("[");
  for (const bool ordinary : {false, true}) {
    if (!wanted_column.empty() && wanted_column != (ordinary ? "ordinary" : "nonblocking")) continue;
    Fixture fixture = make_fixture(ordinary);
    spin_ns<<<1, 1, 0, fixture.stream>>>(1);
    empty<<<1, 1, 0, fixture.stream>>>();
    drain(fixture.stream);
    for (const Row& row : all_rows()) {
      if (wanted_row.empty() || wanted_row == row.name) run_cell(fixture, row, ordinary, first);
    }
  }
  std::printf("\n]\n");
  return 0;
}
