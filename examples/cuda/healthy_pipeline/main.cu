// SPDX-License-Identifier: Apache-2.0
// The counter-example: pinned buffers, one stream for copies and one for kernels, and a host that runs ahead. It waits
// for the GPU too, but only once it is eight steps ahead, so the GPU never idles for it, even where other programs want
// the host's processors as well.
#include "example.h"
#include "spin.h"

namespace {

constexpr std::size_t kBatchBytes = 4 << 20;
constexpr int kSlots = 8;

struct Slot {
  unsigned char* host;
  unsigned char* device;
  cudaEvent_t filled;
  cudaEvent_t used;
};

Slot make_slot(int index) {
  Slot slot;
  CHECK(cudaMallocHost(&slot.host, kBatchBytes));
  CHECK(cudaMalloc(&slot.device, kBatchBytes));
  CHECK(cudaEventCreateWithFlags(&slot.filled, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&slot.used, cudaEventDisableTiming | cudaEventBlockingSync));
  std::memset(slot.host, index + 1, kBatchBytes);
  CHECK(cudaMemset(slot.device, 0, kBatchBytes));  // the simulated GPU has pages for it only now
  return slot;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, 100);
  cudaStream_t compute;
  cudaStream_t copies;
  CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
  Slot slots[kSlots];
  for (int i = 0; i < kSlots; ++i) slots[i] = make_slot(i);

  const Run run("healthy_pipeline", options);
  for (int i = 0; i < options.steps; ++i) {
    const Step step;
    const Slot& slot = slots[i % kSlots];
    CHECK(cudaEventSynchronize(slot.used));  // eight steps back: the GPU still has work when this returns
    host_work(200 * kMicrosecond);
    CHECK(cudaMemcpyAsync(slot.device, slot.host, kBatchBytes, cudaMemcpyHostToDevice, copies));
    CHECK(cudaEventRecord(slot.filled, copies));
    CHECK(cudaStreamWaitEvent(compute, slot.filled));
    spin_ns<<<1, 1, 0, compute>>>(4 * kMillisecond);
    CHECK(cudaEventRecord(slot.used, compute));
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(slots[0].host, slots[0].device, kBatchBytes, cudaMemcpyDeviceToHost));
  return run.report(checksum(slots[0].host, kBatchBytes));
}
