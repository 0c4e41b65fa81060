// SPDX-License-Identifier: Apache-2.0
// cudaMemcpyAsync from ordinary (pageable) memory: "Async" in the name, and it waits for the stream all the same.
#include "example.h"
#include "spin.h"

namespace {
constexpr std::size_t kBatchBytes = 8 << 20;
}

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, 80);
  cudaStream_t stream;
  unsigned char* device;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&device, kBatchBytes));

  std::vector<unsigned char> pageable(kBatchBytes, 3);
  unsigned char* batch = pageable.data();
  if (options.fixed) {
    CHECK(cudaMallocHost(&batch, kBatchBytes));
    std::memset(batch, 3, kBatchBytes);
  }

  const Run run("pageable_async", options);
  for (int i = 0; i < options.steps; ++i) {
    const Step step;
    CHECK(cudaMemcpyAsync(device, batch, kBatchBytes, cudaMemcpyHostToDevice, stream));  // the finding
    spin_ns<<<1, 1, 0, stream>>>(2 * kMillisecond);
    host_work(1 * kMillisecond);
  }
  CHECK(cudaStreamSynchronize(stream));
  std::vector<unsigned char> result(kBatchBytes);
  CHECK(cudaMemcpy(result.data(), device, kBatchBytes, cudaMemcpyDeviceToHost));
  return run.report(checksum(result.data(), kBatchBytes));
}
