// SPDX-License-Identifier: Apache-2.0
// Frames of a camera are uploaded and denoised, with two buffers in turns. The buffers are vectors in pageable memory,
// so each copy to the GPU is slow and holds the host until the frame before it is done.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) \
  if (cudaError_t status = (call)) std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)), std::exit(1)

constexpr int kWidth = 2048, kHeight = 2048, kPixels = kWidth * kHeight, kRadius = 12;

__global__ void denoise(const float* frame, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const float center = frame[y * kWidth + x];
  float sum = 0, weights = 0;
  for (int dy = -kRadius; dy <= kRadius; ++dy) {
    for (int dx = -kRadius; dx <= kRadius; ++dx) {
      const float value = frame[min(max(y + dy, 0), kHeight - 1) * kWidth + min(max(x + dx, 0), kWidth - 1)];
      const float weight = __expf(-0.02f * (dx * dx + dy * dy) - 4.f * (value - center) * (value - center));
      sum += weight * value;
      weights += weight;
    }
  }
  out[y * kWidth + x] += 0.1f * (sum / weights - out[y * kWidth + x]);
}

__attribute__((noinline)) void read_frame(const std::vector<std::vector<float>>& camera, int step, float* frame) {
  std::memcpy(frame, camera[step % camera.size()].data(), kPixels * sizeof(float));
}

int main(int argc, char** argv) {
  const int steps = argc > 2 && !std::strcmp(argv[1], "--steps") ? std::atoi(argv[2]) : 300;
  std::vector<std::vector<float>> camera(4, std::vector<float>(kPixels));
  unsigned random = 1;
  for (auto& frame : camera)
    for (float& pixel : frame) pixel = (random = random * 1664525u + 1013904223u) / 4294967296.f;
  std::vector<float> host[2] = {std::vector<float>(kPixels), std::vector<float>(kPixels)};
  float *frame, *average;
  CHECK(cudaMalloc(&frame, kPixels * sizeof(float)));
  CHECK(cudaMalloc(&average, kPixels * sizeof(float)));
  CHECK(cudaMemset(average, 0, kPixels * sizeof(float)));
  cudaStream_t stream;
  cudaEvent_t uploaded[2];
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (cudaEvent_t& event : uploaded) CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    if (step == steps / 5) cudaDeviceSynchronize(), start = std::chrono::steady_clock::now();
    float* buffer = host[step % 2].data();
    CHECK(cudaEventSynchronize(uploaded[step % 2]));  // until then the buffer belongs to its last copy
    read_frame(camera, step, buffer);
    CHECK(cudaMemcpyAsync(frame, buffer, kPixels * sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECK(cudaEventRecord(uploaded[step % 2], stream));
    denoise<<<dim3(kWidth / 32, kHeight / 8), dim3(32, 8), 0, stream>>>(frame, average);
  }
  CHECK(cudaDeviceSynchronize());
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  std::vector<float> result(kPixels);
  CHECK(cudaMemcpy(result.data(), average, kPixels * sizeof(float), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (const float pixel : result) sum += pixel * pixel;
  std::printf("ms/step=%.4f\nresult=%.6g\n", elapsed.count() / (steps - steps / 5), sum);
}
