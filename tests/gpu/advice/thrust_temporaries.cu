// SPDX-License-Identifier: Apache-2.0
// Particles fly in a box and are sorted by their cell of a grid, to keep neighbours together. Thrust's default policy
// allocates and frees temporary memory in each call, and the driver takes long for both.
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

struct CachingAllocator {
  using value_type = char;
  std::multimap<std::ptrdiff_t, char*> unused;
  std::map<char*, std::ptrdiff_t> sizes;
  char* allocate(std::ptrdiff_t bytes) {
    char* block = nullptr;
    const auto found = unused.lower_bound(bytes);
    if (found != unused.end()) return block = found->second, unused.erase(found), block;
    if (cudaMalloc(&block, bytes) != cudaSuccess) throw std::bad_alloc();
    return sizes[block] = bytes, block;
  }
  void deallocate(char* block, std::size_t) { unused.emplace(sizes[block], block); }
};

constexpr int kCells = 1024, kParticles = 1 << 23, kBlocks = kParticles / 256;

__global__ void place(float4* particles) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, hash = i * 2654435761u;
  particles[i] = {hash / 4294967808.f, (i + 0.5f) / kParticles, 1e-3f * (i % 7) - 3e-3f, 1e-3f * (i % 11) - 5e-3f};
}

__global__ void move(float4* particles, unsigned* cells, int* order, float* speeds, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 p = particles[i];
  p.z += dt * (0.5f - p.x), p.w += dt * (0.5f - p.y);
  p.x += dt * p.z, p.y += dt * p.w;
  if (p.x < 0 || p.x > 0.999999f) p.x = fminf(fmaxf(p.x, 0.f), 0.999999f), p.z = -p.z;
  if (p.y < 0 || p.y > 0.999999f) p.y = fminf(fmaxf(p.y, 0.f), 0.999999f), p.w = -p.w;
  particles[i] = p;
  cells[i] = unsigned(p.y * kCells) * kCells + unsigned(p.x * kCells);
  order[i] = i;
  speeds[i] = p.z * p.z + p.w * p.w;
}

__global__ void reorder(const float4* from, float4* to, const int* order) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[order[i]];
}

template <typename T>
__attribute__((noinline)) T* device_array(int count) {
  T* array;
  if (cudaMalloc(&array, sizeof(T) * count) != cudaSuccess) std::exit(1);
  return array;
}

int main(int argc, char** argv) {
  const int steps = argc > 2 && !std::strcmp(argv[1], "--steps") ? std::atoi(argv[2]) : 300, n = kParticles;
  float4 *particles = device_array<float4>(n), *sorted = device_array<float4>(n);
  unsigned* cells = device_array<unsigned>(n);
  int* order = device_array<int>(n);
  float *speeds = device_array<float>(n), fastest = 0.01f;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  CachingAllocator cache;
  const auto policy = thrust::cuda::par.on(stream);
  place<<<kBlocks, 256, 0, stream>>>(particles);
  auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    if (step == steps / 5) cudaDeviceSynchronize(), start = std::chrono::steady_clock::now();
    move<<<kBlocks, 256, 0, stream>>>(particles, cells, order, speeds, 0.5f / kCells / fastest);
    thrust::sort_by_key(policy, cells, cells + n, order);
    reorder<<<kBlocks, 256, 0, stream>>>(particles, sorted, order);
    std::swap(particles, sorted);
    fastest = std::sqrt(thrust::reduce(policy, speeds, speeds + n, 0.f, thrust::maximum<float>()));
  }
  const float energy = thrust::reduce(policy, speeds, speeds + n, 0.f);
  cudaDeviceSynchronize();
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("ms/step=%.4f\nresult=%.6g %.6g\n", elapsed.count() / (steps - steps / 5), energy, fastest);
}
