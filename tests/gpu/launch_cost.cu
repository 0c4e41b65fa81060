// SPDX-License-Identifier: Apache-2.0
// What the recorder costs per call, measured inside one process: the same loops under each mode of the recorder, in
// alternating windows, in a new random order every round. With SYNCTRACE_TEST_CONTROL=1 the recorder obeys NVTX marks
// of the default domain; without a recorder all modes are the same, which shows the noise.
//
// launch_cost [--rounds N] [--calls N]   JSON on stdout: medians in ns per call, and the ratios to "off" of the
// same round with their median.
#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <string>

#include "example.h"

__global__ void empty() {}

namespace {

constexpr std::array<const char*, 4> kModes = {"off", "cupti-only", "syncs", "timeline"};
constexpr int kGraphNodes = 400;

struct Bench {
  int calls = 1000;
  cudaStream_t stream;
  cudaGraphExec_t graph;
  unsigned char* device;
  unsigned char host[64] = {};
};

struct Workload {
  const char* name;
  const char* unit;
  std::function<int(Bench&)> run;  // returns how many units it did
};

int launch_and_drain(Bench& b) {
  for (int i = 0; i < b.calls; ++i) empty<<<1, 1, 0, b.stream>>>();
  CHECK(cudaStreamSynchronize(b.stream));
  return b.calls;
}

int empty_sync(Bench& b) {
  for (int i = 0; i < b.calls; ++i) CHECK(cudaStreamSynchronize(b.stream));
  return b.calls;
}

int small_copy(Bench& b) {
  for (int i = 0; i < b.calls; ++i) {
    CHECK(cudaMemcpyAsync(b.device, b.host, sizeof b.host, cudaMemcpyHostToDevice, b.stream));
  }
  CHECK(cudaStreamSynchronize(b.stream));
  return b.calls;
}

int graph_replay(Bench& b) {
  const int replays = std::max(1, b.calls / 50);
  for (int i = 0; i < replays; ++i) CHECK(cudaGraphLaunch(b.graph, b.stream));
  CHECK(cudaStreamSynchronize(b.stream));
  return replays;
}

const std::array<Workload, 4> kWorkloads = {{{"launch_and_drain", "launch", launch_and_drain},
                                             {"empty_stream_sync", "sync", empty_sync},
                                             {"pageable_copy_64B", "copy", small_copy},
                                             {"graph_replay_400_nodes", "replay", graph_replay}}};

void set_up(Bench& b) {
  CHECK(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&b.device, sizeof b.host));
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kGraphNodes; ++i) empty<<<1, 1, 0, b.stream>>>();
  CHECK(cudaStreamEndCapture(b.stream, &graph));
  CHECK(cudaGraphInstantiate(&b.graph, graph, 0));
}

double time_once(Bench& b, const Workload& workload) {
  const auto start = std::chrono::steady_clock::now();
  const int units = workload.run(b);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / units;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

// samples[mode][round]
std::array<std::vector<double>, kModes.size()> measure(Bench& b, const Workload& workload, int rounds) {
  std::array<std::vector<double>, kModes.size()> samples;
  std::array<std::size_t, kModes.size()> order = {0, 1, 2, 3};
  std::mt19937 random(20261120);
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t mode : order) {
      nvtxMarkA((std::string("synctrace:") + kModes[mode]).c_str());
      time_once(b, workload);  // the first window after a switch pays for the switch
      samples[mode].push_back(time_once(b, workload));
    }
  }
  return samples;
}

void print(const Workload& workload, const std::array<std::vector<double>, kModes.size()>& samples, bool last) {
  std::printf("  {\"workload\": \"%s\", \"unit\": \"%s\", \"modes\": {", workload.name, workload.unit);
  for (std::size_t mode = 0; mode < kModes.size(); ++mode) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < samples[mode].size(); ++i) ratios.push_back(samples[mode][i] / samples[0][i]);
    std::printf("%s\"%s\": {\"median_ns\": %.1f, \"ratio\": %.4f, \"ratios\": [", mode > 0 ? ", " : "", kModes[mode],
                median(samples[mode]), median(ratios));
    for (std::size_t i = 0; i < ratios.size(); ++i) std::printf("%s%.4f", i > 0 ? ", " : "", ratios[i]);
    std::printf("]}");
  }
  std::printf("}}%s\n", last ? "" : ",");
}

}  // namespace

int main(int argc, char** argv) {
  Bench bench;
  int rounds = 24;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--rounds") rounds = std::max(1, std::atoi(argv[i + 1]));
    if (std::string(argv[i]) == "--calls") bench.calls = std::max(1, std::atoi(argv[i + 1]));
  }
  set_up(bench);
  std::printf("{\"rounds\": %d, \"calls_per_window\": %d, \"results\": [\n", rounds, bench.calls);
  for (std::size_t i = 0; i < kWorkloads.size(); ++i) {
    print(kWorkloads[i], measure(bench, kWorkloads[i], rounds), i + 1 == kWorkloads.size());
  }
  std::printf("]}\n");
  nvtxMarkA("synctrace:timeline");
  return 0;
}
