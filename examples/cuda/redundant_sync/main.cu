// SPDX-License-Identifier: Apache-2.0
// Three waits in a row, written by three people. The first one waits; removing it alone gains nothing, because the next
// one then waits instead.
#include "example.h"
#include "spin.h"

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, 100);
  cudaStream_t stream;
  cudaEvent_t done;
  unsigned char* device;
  unsigned char* values;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  CHECK(cudaMalloc(&device, 1));
  CHECK(cudaMallocHost(&values, options.steps));

  const Run run("redundant_sync", options);
  for (int i = 0; i < options.steps; ++i) {
    const Step step;
    spin_ns<<<1, 1, 0, stream>>>(1500 * kMicrosecond);
    CHECK(cudaMemsetAsync(device, i & 0xff, 1, stream));
    CHECK(cudaMemcpyAsync(&values[i], device, 1, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaEventRecord(done, stream));
    if (!options.fixed) {
      CHECK(cudaStreamSynchronize(stream));  // waits
      CHECK(cudaEventSynchronize(done));     // redundant: the event lies behind the stream's end
      CHECK(cudaDeviceSynchronize());        // redundant: nothing else runs
    }
    host_work(700 * kMicrosecond);
  }
  CHECK(cudaStreamSynchronize(stream));
  return run.report(checksum(values, options.steps));
}
