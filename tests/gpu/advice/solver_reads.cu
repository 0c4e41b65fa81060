// SPDX-License-Identifier: Apache-2.0
// A Poisson equation is relaxed by Jacobi sweeps, for a source that moves in each step. After each sweep the host reads
// five sums one by one, and each read is a blocking copy of eight bytes.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#define CHECK(call) \
  if (cudaError_t status = (call)) std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)), std::exit(1)

__global__ void sweep(const double* u, double* next, const double* f, double weight, double mean, int n, double* sums) {
  double part[5] = {};  // residual, change, total, energy, source: a sum each
  for (int row = blockIdx.y; row < n; row += gridDim.y) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, i = row * n + column;
    const double above = u[row ? i - n : i], below = u[row < n - 1 ? i + n : i];
    const double left = u[column ? i - 1 : i], right = u[column < n - 1 ? i + 1 : i];
    const double residual = f[i] + above + below + left + right - 4 * u[i], change = 0.25 * weight * residual;
    next[i] = u[i] - mean + change;
    const double value[5] = {residual * residual, change * change, next[i], next[i] * next[i], f[i] * f[i]};
    for (int k = 0; k < 5; ++k) part[k] += value[k];
  }
  for (int k = 0; k < 5; ++k) {
    for (int lane = 16; lane > 0; lane /= 2) part[k] += __shfl_down_sync(~0u, part[k], lane);
    if (threadIdx.x % 32 == 0) atomicAdd(sums + k, part[k]);
  }
}

__global__ void move_source(double* f, double phase, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  f[blockIdx.y * n + column] = sinpi(2.0 * column / n + phase) * cospi(2.0 * blockIdx.y / n);
}

__attribute__((noinline)) double read_scalar(const double* on_device) {
  double value;
  CHECK(cudaMemcpy(&value, on_device, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

int main(int argc, char** argv) {
  const int steps = argc > 2 && !std::strcmp(argv[1], "--steps") ? std::atoi(argv[2]) : 250, n = 3072;
  double *u, *next, *f, *sums, energy = 0, residual = 0;
  for (double** field : {&u, &next, &f}) CHECK(cudaMalloc(field, sizeof(double) * n * n));
  CHECK(cudaMalloc(&sums, 5 * sizeof(double)));
  CHECK(cudaMemset(u, 0, sizeof(double) * n * n));
  auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    if (step == steps / 5) cudaDeviceSynchronize(), start = std::chrono::steady_clock::now();
    move_source<<<dim3(n / 256, n), 256>>>(f, 0.002 * step, n);
    double weight = 0.9, mean = 0, last_change = INFINITY;
    for (int i = 0; i < 20; ++i) {
      CHECK(cudaMemsetAsync(sums, 0, 5 * sizeof(double)));
      sweep<<<dim3(n / 256, 64), 256>>>(u, next, f, weight, mean, n, sums);
      std::swap(u, next);
      residual = read_scalar(sums);
      const double change = read_scalar(sums + 1);
      mean = read_scalar(sums + 2) / n / n;
      energy = read_scalar(sums + 3);
      const double source = read_scalar(sums + 4);
      if (residual < 1e-12 * source || !std::isfinite(energy)) break;
      if (change > last_change) weight *= 0.9;
      last_change = change;
    }
  }
  CHECK(cudaDeviceSynchronize());
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("ms/step=%.4f\nresult=%.6g %.6g\n", elapsed.count() / (steps - steps / 5), energy, residual);
}
