// SPDX-License-Identifier: Apache-2.0
// Each step waits for the event that it has just recorded, to read a value it could read one step later.
#include "example.h"
#include "spin.h"

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, 100);
  cudaStream_t stream;
  cudaEvent_t done[2];
  int* device;
  int* values;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (cudaEvent_t& event : done) CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CHECK(cudaMalloc(&device, sizeof(int)));
  CHECK(cudaMallocHost(&values, options.steps * sizeof(int)));

  std::uint64_t sum = 0;
  const Run run("event_sync", options);
  for (int i = 0; i < options.steps; ++i) {
    const Step step;
    spin_ns<<<1, 1, 0, stream>>>(1500 * kMicrosecond);
    CHECK(cudaMemsetAsync(device, i & 0xff, sizeof(int), stream));
    CHECK(cudaMemcpyAsync(&values[i], device, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaEventRecord(done[i % 2], stream));
    const int wanted = options.fixed ? i - 1 : i;
    if (wanted >= 0) {
      CHECK(cudaEventSynchronize(done[wanted % 2]));  // the finding, unless it is the event of the step before
      sum += static_cast<std::uint64_t>(values[wanted]);
    }
    host_work(700 * kMicrosecond);
  }
  CHECK(cudaStreamSynchronize(stream));
  if (options.fixed) sum += static_cast<std::uint64_t>(values[options.steps - 1]);
  return run.report(sum);
}
