// SPDX-License-Identifier: Apache-2.0
// No call waits for the GPU here, and it is idle most of the time: each launch comes after 2 ms of work on the host.
#include <future>

#include "example.h"
#include "spin.h"

namespace {

// The host's part of a step, a batch prepared for example. It needs nothing from the GPU, so it can run ahead.
unsigned char prepare_batch(int index) {
  host_work(2 * kMillisecond);
  return static_cast<unsigned char>(index);
}

// Batches in order. With `ahead` = 0 each is prepared when it is asked for; otherwise by up to that many threads.
class Loader {
 public:
  Loader(int count, int ahead) : count_(count), ahead_(ahead) {}

  unsigned char next() {
    if (ahead_ == 0) return prepare_batch(taken_++);
    while (started_ < count_ && started_ < taken_ + ahead_) {
      pending_.push_back(std::async(std::launch::async, prepare_batch, started_++));
    }
    return pending_[taken_++].get();
  }

 private:
  int count_;
  int ahead_;
  int taken_ = 0;
  int started_ = 0;
  std::vector<std::future<unsigned char>> pending_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, 200);
  cudaStream_t stream;
  unsigned char* device;
  unsigned char* batches;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&device, 1));
  CHECK(cudaMallocHost(&batches, options.steps));

  Loader loader(options.steps, options.fixed ? 4 : 0);
  const Run run("late_launch", options);
  for (int i = 0; i < options.steps; ++i) {
    const Step step;
    batches[i] = loader.next();  // the finding is here: host work, not a CUDA call
    CHECK(cudaMemcpyAsync(device, &batches[i], 1, cudaMemcpyHostToDevice, stream));
    spin_ns<<<1, 1, 0, stream>>>(1 * kMillisecond);
  }
  CHECK(cudaStreamSynchronize(stream));
  return run.report(checksum(batches, options.steps));
}
