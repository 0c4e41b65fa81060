// SPDX-License-Identifier: Apache-2.0
// A reaction and diffusion is integrated by the method of Runge and Kutta. Each step allocates its three work buffers
// and frees them again, and each release waits for the GPU.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) \
  if (cudaError_t status = (call)) std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)), std::exit(1)

constexpr int kWidth = 8192, kHeight = 4096, kCells = kWidth * kHeight;
constexpr size_t kBytes = kCells * sizeof(float);
const dim3 kGrid(kWidth / 64, kHeight / 4), kBlock(64, 4);

__global__ void start_field(float* field) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  field[y * kWidth + x] = 0.5f + 0.4f * sinpif(x / 64.f) * cospif(y / 96.f);
}

__global__ void slope_of(const float* u, float* slope) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, i = y * kWidth + x;
  const float left = u[x ? i - 1 : i], right = u[x < kWidth - 1 ? i + 1 : i];
  const float above = u[y ? i - kWidth : i], below = u[y < kHeight - 1 ? i + kWidth : i];
  slope[i] = left + right + above + below - 4 * u[i] + u[i] * (1 - u[i]) * (u[i] - 0.4f);
}

__global__ void combine(const float* u, const float* slope, float* sum, float* stage, float weight, float ahead) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, i = y * kWidth + x;
  sum[i] += weight * slope[i];
  stage[i] = u[i] + ahead * slope[i];
}

__attribute__((noinline)) void integrate(float* u, float* slope, float* sum, float* stage, float dt) {
  const float weights[4] = {dt / 6, dt / 3, dt / 3, dt / 6}, ahead[4] = {dt / 2, dt / 2, dt, 0};
  CHECK(cudaMemcpyAsync(sum, u, kBytes, cudaMemcpyDeviceToDevice));
  for (int k = 0; k < 4; ++k) {
    slope_of<<<kGrid, kBlock>>>(k ? stage : u, slope);
    combine<<<kGrid, kBlock>>>(u, slope, sum, stage, weights[k], ahead[k]);
  }
  CHECK(cudaMemcpyAsync(u, sum, kBytes, cudaMemcpyDeviceToDevice));
}

int main(int argc, char** argv) {
  const int steps = argc > 2 && !std::strcmp(argv[1], "--steps") ? std::atoi(argv[2]) : 250;
  float* u;
  CHECK(cudaMalloc(&u, kBytes));
  start_field<<<kGrid, kBlock>>>(u);
  auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    if (step == steps / 5) cudaDeviceSynchronize(), start = std::chrono::steady_clock::now();
    float *slope, *sum, *stage;
    CHECK(cudaMalloc(&slope, kBytes));
    CHECK(cudaMalloc(&sum, kBytes));
    CHECK(cudaMalloc(&stage, kBytes));
    for (int half = 0; half < 2; ++half) integrate(u, slope, sum, stage, 0.05f);
    CHECK(cudaFree(slope));
    CHECK(cudaFree(sum));
    CHECK(cudaFree(stage));
  }
  CHECK(cudaDeviceSynchronize());
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  std::vector<float> field(kCells);
  CHECK(cudaMemcpy(field.data(), u, kBytes, cudaMemcpyDeviceToHost));
  double total = 0;
  for (const float value : field) total += value;
  std::printf("ms/step=%.4f\nresult=%.6g\n", elapsed.count() / (steps - steps / 5), total);
}
