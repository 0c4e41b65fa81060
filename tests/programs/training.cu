// SPDX-License-Identifier: Apache-2.0
// A training loop for hours: each step uploads a batch, launches kernels, lets the GPU finish the step before, and
// every tenth reads a loss. It sleeps in its waits, so it needs little of a core. stderr has one line of JSON for each
// window of time: the steps in it, and what a launch cost there (of each step the mean over its launches; of those the
// tenth percentile and the median, in ns). training [SECONDS] [WINDOW_SECONDS] [LAUNCHES_PER_STEP] [KERNEL_US]
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "example.h"
#include "spin.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatchBytes = 64 << 10;
constexpr int kStepsPerRead = 10;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Training {
  int launches;
  long long kernel_ns;
  cudaStream_t stream;
  cudaEvent_t step_done[2];
  unsigned char* device;
  unsigned char* batch;
  unsigned char loss[4] = {};

  Training(int launches_per_step, long long ns) : launches(launches_per_step), kernel_ns(ns) {
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (cudaEvent_t& event : step_done) CHECK(cudaEventCreateWithFlags(&event, cudaEventBlockingSync));
    CHECK(cudaMalloc(&device, kBatchBytes));
    CHECK(cudaMallocHost(&batch, kBatchBytes));
  }

  // Mean ns of a launch.
  double step(long long number) {
    const Step range;
    CHECK(cudaMemcpyAsync(device, batch, kBatchBytes, cudaMemcpyHostToDevice, stream));
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < launches; ++i) spin_ns<<<1, 1, 0, stream>>>(kernel_ns);
    const double launch_ns = seconds_since(start) * 1e9 / launches;
    CHECK(cudaEventRecord(step_done[number % 2], stream));
    if (number > 0) CHECK(cudaEventSynchronize(step_done[(number - 1) % 2]));
    if (number % kStepsPerRead == 0) CHECK(cudaMemcpyAsync(loss, device, sizeof loss, cudaMemcpyDeviceToHost, stream));
    return launch_ns;
  }
};

void print_window(double at, std::vector<double>& launch_ns) {
  std::sort(launch_ns.begin(), launch_ns.end());
  std::fprintf(stderr, "{\"seconds\": %.1f, \"steps\": %zu, \"cost_ns_p10\": %.0f, \"cost_ns_median\": %.0f}\n", at,
               launch_ns.size(), launch_ns[launch_ns.size() / 10], launch_ns[launch_ns.size() / 2]);
  launch_ns.clear();
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const double window_seconds = argc > 2 ? std::atof(argv[2]) : 1;
  Training training(argc > 3 ? std::max(1, std::atoi(argv[3])) : 20,
                    kMicrosecond * (argc > 4 ? std::atoi(argv[4]) : 250));
  const Clock::time_point start = Clock::now();
  double window_end = window_seconds;
  std::vector<double> launch_ns;
  for (long long number = 0; seconds_since(start) < seconds; ++number) {
    launch_ns.push_back(training.step(number));
    if (seconds_since(start) < window_end) continue;
    print_window(window_end, launch_ns);
    window_end += window_seconds;
  }
  CHECK(cudaStreamSynchronize(training.stream));
  std::printf("done\n");
  return 0;
}
