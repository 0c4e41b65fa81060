// SPDX-License-Identifier: Apache-2.0
// A loop that waits for the GPU after every step to look at a loss it only logs.
#include "example.h"
#include "spin.h"

namespace {

// A step of four kernels, then the host's own part. `loss` is pinned: the copy itself never waits.
void launch_step(cudaStream_t stream, float* loss_device, float* loss, int step) {
  for (int layer = 0; layer < 4; ++layer) spin_ns<<<1, 1, 0, stream>>>(400 * kMicrosecond);
  CHECK(cudaMemsetAsync(loss_device, step & 0xff, sizeof(float), stream));
  CHECK(cudaMemcpyAsync(loss, loss_device, sizeof(float), cudaMemcpyDeviceToHost, stream));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, 100);
  cudaStream_t stream;
  float* loss_device;
  float* losses;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&loss_device, sizeof(float)));
  CHECK(cudaMallocHost(&losses, options.steps * sizeof(float)));

  const Run run("sync_per_step", options);
  for (int i = 0; i < options.steps; ++i) {
    const Step step;
    launch_step(stream, loss_device, &losses[i], i);
    if (!options.fixed) CHECK(cudaStreamSynchronize(stream));  // the finding: the GPU idles until the next launch
    host_work(800 * kMicrosecond);                             // the next batch, the progress bar, the scheduler
  }
  CHECK(cudaStreamSynchronize(stream));
  return run.report(checksum(losses, options.steps * sizeof(float)));
}
