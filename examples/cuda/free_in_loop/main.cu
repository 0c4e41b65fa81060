// SPDX-License-Identifier: Apache-2.0
// Scratch memory allocated and freed in every step: cudaFree waits for all work on the device.
#include "example.h"
#include "spin.h"

namespace {

constexpr std::size_t kScratchBytes = 1 << 20;

void step_with_malloc(cudaStream_t stream) {
  void* scratch;
  CHECK(cudaMalloc(&scratch, kScratchBytes));
  CHECK(cudaMemsetAsync(scratch, 1, kScratchBytes, stream));
  spin_ns<<<1, 1, 0, stream>>>(2 * kMillisecond);
  CHECK(cudaFree(scratch));  // the finding: returns when the kernel is over
}

void step_with_pool(cudaStream_t stream) {
  void* scratch;
  CHECK(cudaMallocAsync(&scratch, kScratchBytes, stream));
  CHECK(cudaMemsetAsync(scratch, 1, kScratchBytes, stream));
  spin_ns<<<1, 1, 0, stream>>>(2 * kMillisecond);
  CHECK(cudaFreeAsync(scratch, stream));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, 100);
  cudaStream_t stream;
  unsigned char* result;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&result, 256));
  CHECK(cudaMemset(result, 5, 256));

  const Run run("free_in_loop", options);
  for (int i = 0; i < options.steps; ++i) {
    const Step step;
    if (options.fixed) {
      step_with_pool(stream);
    } else {
      step_with_malloc(stream);
    }
    host_work(1 * kMillisecond);
  }
  CHECK(cudaStreamSynchronize(stream));
  unsigned char bytes[256];
  CHECK(cudaMemcpy(bytes, result, sizeof bytes, cudaMemcpyDeviceToHost));
  return run.report(checksum(bytes, sizeof bytes));
}
