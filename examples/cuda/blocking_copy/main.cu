// SPDX-License-Identifier: Apache-2.0
// cudaMemcpy from pinned memory, in a loop over an ordinary stream: the copy waits for the kernels in flight.
#include "example.h"
#include "spin.h"

namespace {

constexpr std::size_t kBatchBytes = 4 << 20;

struct Buffers {
  unsigned char* host;       // pinned
  unsigned char* device[2];  // one is computed on while the other is filled
  cudaStream_t compute;
  cudaStream_t copies;
  cudaEvent_t filled[2];
  cudaEvent_t used[2];
};

Buffers make_buffers(bool fixed) {
  Buffers b;
  CHECK(cudaMallocHost(&b.host, kBatchBytes));
  std::memset(b.host, 7, kBatchBytes);
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaMalloc(&b.device[i], kBatchBytes));
    CHECK(cudaEventCreateWithFlags(&b.filled[i], cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&b.used[i], cudaEventDisableTiming));
  }
  const unsigned flags = fixed ? cudaStreamNonBlocking : cudaStreamDefault;
  CHECK(cudaStreamCreateWithFlags(&b.compute, flags));
  CHECK(cudaStreamCreateWithFlags(&b.copies, flags));
  return b;
}

void load_batch(const Buffers& b, int slot, bool fixed) {
  if (!fixed) {
    CHECK(cudaMemcpy(b.device[slot], b.host, kBatchBytes, cudaMemcpyHostToDevice));  // the finding
    return;
  }
  CHECK(cudaStreamWaitEvent(b.copies, b.used[slot]));
  CHECK(cudaMemcpyAsync(b.device[slot], b.host, kBatchBytes, cudaMemcpyHostToDevice, b.copies));
  CHECK(cudaEventRecord(b.filled[slot], b.copies));
  CHECK(cudaStreamWaitEvent(b.compute, b.filled[slot]));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, 100);
  const Buffers b = make_buffers(options.fixed);

  const Run run("blocking_copy", options);
  for (int i = 0; i < options.steps; ++i) {
    const Step step;
    load_batch(b, i % 2, options.fixed);
    spin_ns<<<1, 1, 0, b.compute>>>(2 * kMillisecond);
    CHECK(cudaEventRecord(b.used[i % 2], b.compute));
    host_work(500 * kMicrosecond);
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(b.host, b.device[0], kBatchBytes, cudaMemcpyDeviceToHost));
  return run.report(checksum(b.host, kBatchBytes));
}
