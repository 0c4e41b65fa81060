// SPDX-License-Identifier: Apache-2.0
// Nothing but launches: how fast, and how much memory the process has needed at its peak.
// launch_many [LAUNCHES] [THREADS]
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "example.h"

__global__ void empty() {}

namespace {

void launch(long long count) {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (long long i = 0; i < count; ++i) empty<<<1, 1, 0, stream>>>();
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(stream));
}

long long peak_resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::atoll(line.c_str() + 6);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const long long launches = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  launch(1);  // context, module, first-use costs
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(launch, launches / threads + (i < launches % threads));
  for (std::thread& worker : workers) worker.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("launches %lld\n", launches + 1);
  std::fprintf(stderr,
               "{\"launches\": %lld, \"threads\": %d, \"seconds\": %.6f, \"launches_per_second\": %.0f, "
               "\"peak_rss_kib\": %lld}\n",
               launches + 1, threads, seconds.count(), static_cast<double>(launches) / seconds.count(),
               peak_resident_kib());
  return 0;
}
