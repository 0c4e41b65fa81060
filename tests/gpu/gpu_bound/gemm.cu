// SPDX-License-Identifier: Apache-2.0
// A recurrent network of three float32 layers runs as a chain of cuBLAS matrix products, with small kernels between
// them. The products run in full float32, and the bias and the tanh are two kernels. The GPU is busy the whole time.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr int rows = 8192;
constexpr int width = 4096;

static void check(bool good, const char* what) {
  if (!good) {
    std::fprintf(stderr, "%s failed\n", what);
    std::exit(1);
  }
}

__global__ void fillRandom(float* values, size_t count, unsigned seed, float scale) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i >= count) return;
  unsigned bits = unsigned(i) * 2654435761u + seed * 40503u;
  bits = (bits ^ (bits >> 16)) * 2246822519u;
  bits = (bits ^ (bits >> 13)) * 3266489917u;
  values[i] = scale * (2.0f * ((bits ^ (bits >> 16)) >> 8) / 16777216.0f - 1.0f);
}

__global__ void addBias(float* values, const float* bias, size_t count) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < count) values[i] += bias[i % width];
}

__global__ void applyTanh(float* values, size_t count) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < count) values[i] = tanhf(values[i]);
}

int main(int argc, char** argv) {
  int steps = argc > 2 && !std::strcmp(argv[1], "--steps") ? std::atoi(argv[2]) : 80;
  const size_t count = size_t(rows) * width, blocks = (count + 255) / 256;
  float *states[3], *weights[3], *bias[3];
  for (int i = 0; i < 3; ++i) {
    check(!cudaMalloc(&states[i], count * sizeof(float)), "cudaMalloc");
    check(!cudaMalloc(&weights[i], size_t(width) * width * sizeof(float)), "cudaMalloc");
    check(!cudaMalloc(&bias[i], width * sizeof(float)), "cudaMalloc");
    fillRandom<<<width * width / 256, 256>>>(weights[i], size_t(width) * width, i + 1, 0.015f);
    fillRandom<<<width / 256, 256>>>(bias[i], width, i + 11, 0.5f);
  }
  fillRandom<<<blocks, 256>>>(states[0], count, 21, 1.0f);

  cublasHandle_t handle;
  check(!cublasCreate(&handle), "cublasCreate");
  const float one = 1.0f, zero = 0.0f;
  auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    if (step == steps / 5) {
      check(!cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      start = std::chrono::steady_clock::now();
    }
    for (int layer = 0; layer < 3; ++layer) {
      float* output = states[layer == 2 ? 0 : layer + 1];
      check(!cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, width, rows, width, &one, weights[layer], width,
                         states[layer], width, &zero, output, width),
            "cublasSgemm");
      addBias<<<blocks, 256>>>(output, bias[layer], count);
      applyTanh<<<blocks, 256>>>(output, count);
    }
  }
  check(!cudaGetLastError() && !cudaDeviceSynchronize(), "the loop");
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  float sum = 0;
  check(!cublasSasum(handle, int(count), states[0], 1, &sum), "cublasSasum");
  std::printf("ms/step=%.4f\n", 1000 * seconds / (steps - steps / 5));
  std::printf("result=%.6g\n", sum / count);
}
