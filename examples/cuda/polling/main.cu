// SPDX-License-Identifier: Apache-2.0
// A thread that asks "are you done?" in a circle: cudaEventQuery never blocks, and the loop waits all the same.
#include "example.h"
#include "spin.h"

namespace {

void wait_by_polling(cudaEvent_t event) {
  cudaError_t status = cudaErrorNotReady;
  while (status == cudaErrorNotReady) {
    status = cudaEventQuery(event);  // the finding: thousands of calls, one wait
    host_work(5 * kMicrosecond);
  }
  CHECK(status);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, 60);
  cudaStream_t stream;
  cudaEvent_t done;
  int* device;
  int* values;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming | cudaEventBlockingSync));
  CHECK(cudaMalloc(&device, sizeof(int)));
  CHECK(cudaMallocHost(&values, options.steps * sizeof(int)));

  const Run run("polling", options);
  for (int i = 0; i < options.steps; ++i) {
    const Step step;
    spin_ns<<<1, 1, 0, stream>>>(2 * kMillisecond);
    CHECK(cudaMemsetAsync(device, i & 0xff, sizeof(int), stream));
    CHECK(cudaMemcpyAsync(&values[i], device, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaEventRecord(done, stream));
    if (options.fixed) {
      CHECK(cudaEventSynchronize(done));  // the thread sleeps, and the core is free for others
    } else {
      wait_by_polling(done);
    }
    host_work(500 * kMicrosecond);
  }
  return run.report(checksum(values, options.steps * sizeof(int)));
}
