// SPDX-License-Identifier: Apache-2.0
// An ordinary stream waits for the default stream and the other way round. A 64-byte cudaMemcpy, which runs in the
// default stream, therefore waits for 2 ms of unrelated work; a stream made with cudaStreamNonBlocking frees it.
#include "example.h"
#include "spin.h"

namespace {
constexpr std::size_t kSettingsBytes = 64;
}

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, 100);
  cudaStream_t background;
  unsigned char* device;
  unsigned char settings[kSettingsBytes];
  std::memset(settings, 9, sizeof settings);
  CHECK(cudaStreamCreateWithFlags(&background, options.fixed ? cudaStreamNonBlocking : cudaStreamDefault));
  CHECK(cudaMalloc(&device, kSettingsBytes));

  const Run run("default_stream", options);
  for (int i = 0; i < options.steps; ++i) {
    const Step step;
    spin_ns<<<1, 1, 0, background>>>(2 * kMillisecond);                           // does not use `device`
    CHECK(cudaMemcpy(device, settings, kSettingsBytes, cudaMemcpyHostToDevice));  // the finding
    host_work(1 * kMillisecond);
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(settings, device, kSettingsBytes, cudaMemcpyDeviceToHost));
  return run.report(checksum(settings, kSettingsBytes));
}
