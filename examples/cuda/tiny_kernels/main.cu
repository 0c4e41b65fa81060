// SPDX-License-Identifier: Apache-2.0
// A step of many kernels, each shorter than the time it takes to launch it: the host is the bottleneck.
#include "example.h"
#include "spin.h"

__global__ void scale(float* values, float factor) { values[threadIdx.x] *= factor; }

namespace {

constexpr int kKernelsPerStep = 200;
constexpr int kValues = 64;

void launch_step(cudaStream_t stream, float* values) {
  for (int i = 0; i < kKernelsPerStep; ++i) scale<<<1, kValues, 0, stream>>>(values, 1.0f);
}

// The same kernels as one graph: one launch per step.
cudaGraphExec_t capture_step(cudaStream_t stream, float* values) {
  cudaGraph_t graph;
  cudaGraphExec_t instance;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  launch_step(stream, values);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&instance, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  return instance;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, 200);
  cudaStream_t stream;
  float* values;
  std::vector<float> host(kValues, 1.5f);
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&values, kValues * sizeof(float)));
  CHECK(cudaMemcpy(values, host.data(), kValues * sizeof(float), cudaMemcpyHostToDevice));
  const cudaGraphExec_t graph = options.fixed ? capture_step(stream, values) : nullptr;

  const Run run("tiny_kernels", options);
  for (int i = 0; i < options.steps; ++i) {
    const Step step;
    if (options.fixed) {
      CHECK(cudaGraphLaunch(graph, stream));
    } else {
      launch_step(stream, values);  // the finding: launches, one after another, on an idle GPU
    }
  }
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(host.data(), values, kValues * sizeof(float), cudaMemcpyDeviceToHost));
  return run.report(checksum(host.data(), kValues * sizeof(float)));
}
