// SPDX-License-Identifier: Apache-2.0
// What recording takes of the GPU's own time: work that lies behind a long kernel, so that the host is not what holds
// it up, by events of the stream before and after it.
//
// gpu_cost [--times N]   one line a kind: its name, and the middle one of N measurements in ns a piece of work
#include <algorithm>
#include <functional>

#include "example.h"

__global__ void empty() {}

__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

namespace {

constexpr int kPieces = 400;
constexpr long long kLongCycles = 20'000'000;  // some 10 ms: longer than the host takes for kPieces calls

struct Memory {
  cudaStream_t stream = nullptr;
  unsigned char* device = nullptr;
  unsigned char* pinned = nullptr;
};

struct Kind {
  const char* name;
  std::function<void(Memory&)> issue;  // one piece of work
};

double on_gpu_ns(Memory& memory, const Kind& kind) {
  cudaEvent_t begin = nullptr, end = nullptr;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  spin<<<1, 1, 0, memory.stream>>>(kLongCycles);
  CHECK(cudaEventRecord(begin, memory.stream));
  for (int i = 0; i < kPieces; ++i) kind.issue(memory);
  CHECK(cudaEventRecord(end, memory.stream));
  CHECK(cudaStreamSynchronize(memory.stream));
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return 1e6 * ms / kPieces;
}

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int times = argc == 3 && std::strcmp(argv[1], "--times") == 0 ? std::max(1, std::atoi(argv[2])) : 20;
  Memory memory;
  CHECK(cudaStreamCreateWithFlags(&memory.stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&memory.device, 2 << 20));
  CHECK(cudaMallocHost(&memory.pinned, 1 << 20));
  const auto copy = [](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream));
  };
  const std::vector<Kind> kinds = {
      {"empty kernel", [](Memory& m) { empty<<<1, 1, 0, m.stream>>>(); }},
      {"kernel of 5 us", [](Memory& m) { spin<<<1, 1, 0, m.stream>>>(10'000); }},
      {"fill of 4 KiB", [](Memory& m) { CHECK(cudaMemsetAsync(m.device, 0, 4096, m.stream)); }},
      {"copy of 4 KiB on the GPU",
       [&](Memory& m) { copy(m.device + 4096, m.device, 4096, cudaMemcpyDeviceToDevice, m.stream); }},
      {"copy of 4 KiB to the GPU, pinned",
       [&](Memory& m) { copy(m.device, m.pinned, 4096, cudaMemcpyHostToDevice, m.stream); }},
      {"copy of 4 B to the host, pinned",
       [&](Memory& m) { copy(m.pinned, m.device, 4, cudaMemcpyDeviceToHost, m.stream); }},
  };
  std::vector<std::vector<double>> times_ns(kinds.size());
  for (int round = -2; round < times; ++round) {  // the first two warm up
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const double ns = on_gpu_ns(memory, kinds[i]);
      if (round >= 0) times_ns[i].push_back(ns);
    }
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) std::printf("%.0f ns: %s\n", middle(times_ns[i]), kinds[i].name);
  return 0;
}
