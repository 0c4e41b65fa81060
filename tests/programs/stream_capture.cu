// SPDX-License-Identifier: Apache-2.0
// Launches into a stream that is being captured run nothing; the graph made of them is then launched. Prints how many
// launches were made either way, and how many kernels really ran.
#include "example.h"
#include "spin.h"

int main() {
  constexpr int kCaptured = 8;
  constexpr int kReplays = 5;
  constexpr int kDirect = 3;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < kDirect; ++i) spin_ns<<<1, 1, 0, stream>>>(20 * kMicrosecond);
  CHECK(cudaStreamSynchronize(stream));

  cudaGraph_t graph;
  cudaGraphExec_t instance;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kCaptured; ++i) spin_ns<<<1, 1, 0, stream>>>(20 * kMicrosecond);
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(stream, &status));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&instance, graph, 0));
  for (int i = 0; i < kReplays; ++i) CHECK(cudaGraphLaunch(instance, stream));
  CHECK(cudaStreamSynchronize(stream));

  std::printf("capturing %d, direct kernels %d, captured %d, graph launches %d\n",
              status == cudaStreamCaptureStatusActive, kDirect, kCaptured, kReplays);
  return 0;
}
