// SPDX-License-Identifier: Apache-2.0
// Maxwell's equations are stepped on a grid, in ten small kernels for each time step. The macro that checks a launch
// also waits for the kernel to end, so the GPU is idle while the host launches the next one.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) \
  if (cudaError_t status = (call)) std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)), std::exit(1)
#define CHECK_LAUNCH()              \
  do {                              \
    CHECK(cudaGetLastError());      \
    CHECK(cudaDeviceSynchronize()); \
  } while (0)

constexpr int kSize = 128, kX = 1, kY = kSize, kZ = kSize * kSize, kCells = kSize * kSize * kSize;
const dim3 kGrid(kSize / 32, kSize / 8, kSize), kBlock(32, 8);

// field += c * (d/da of a - d/db of b): forward differences for the magnetic field, backward ones for the electric.
__global__ void curl(float* field, const float* a, int da, const float* b, int db, float c, bool forward) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= kSize - 1 || y >= kSize - 1 || z >= kSize - 1) return;
  const int i = x + y * kY + z * kZ, ia = forward ? i + da : i, ib = forward ? i + db : i;
  field[i] += c * ((a[ia] - a[ia - da]) - (b[ib] - b[ib - db]));
}

__global__ void absorb(float* field) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
  const int low = min(x, min(y, z)), high = max(x, max(y, z));
  if (low < 4 || high >= kSize - 4) field[x + y * kY + z * kZ] *= 0.9f;
}

__global__ void excite(float* ez, float value) { ez[kSize / 2 * (kX + kY + kZ)] += value; }

__attribute__((noinline)) void advance(float* const e[3], float* const h[3], int time) {
  const int stride[3] = {kX, kY, kZ};
  for (int k = 0, a = 1, b = 2; k < 3; ++k, a = (a + 1) % 3, b = (b + 1) % 3) {
    curl<<<kGrid, kBlock>>>(h[k], e[b], stride[a], e[a], stride[b], -0.5f, true);
    CHECK_LAUNCH();
  }
  for (int k = 0, a = 1, b = 2; k < 3; ++k, a = (a + 1) % 3, b = (b + 1) % 3) {
    curl<<<kGrid, kBlock>>>(e[k], h[b], stride[a], h[a], stride[b], 0.5f, false);
    CHECK_LAUNCH();
    absorb<<<kGrid, kBlock>>>(e[k]);
    CHECK_LAUNCH();
  }
  excite<<<1, 1>>>(e[2], sinf(0.1f * time));
  CHECK_LAUNCH();
}

int main(int argc, char** argv) {
  const int steps = argc > 2 && !std::strcmp(argv[1], "--steps") ? std::atoi(argv[2]) : 250, times = 20;
  float *e[3], *h[3];
  for (float** field : {&e[0], &e[1], &e[2], &h[0], &h[1], &h[2]}) {
    CHECK(cudaMalloc(field, kCells * sizeof(float)));
    CHECK(cudaMemset(*field, 0, kCells * sizeof(float)));
  }
  auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    if (step == steps / 5) cudaDeviceSynchronize(), start = std::chrono::steady_clock::now();
    for (int time = 0; time < times; ++time) advance(e, h, step * times + time);
  }
  CHECK(cudaDeviceSynchronize());
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  std::vector<float> field(kCells);
  CHECK(cudaMemcpy(field.data(), e[2], kCells * sizeof(float), cudaMemcpyDeviceToHost));
  double energy = 0;
  for (const float value : field) energy += value * value;
  std::printf("ms/step=%.4f\nresult=%.6g\n", elapsed.count() / (steps - steps / 5), energy);
}
