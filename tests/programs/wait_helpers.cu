// SPDX-License-Identifier: Apache-2.0
// A solver that waits in small functions only: five values are read through one of them, from three functions, and two
// arrays are sent through another. wait_helpers [STEPS]
#include <algorithm>

#include "example.h"
#include "spin.h"

namespace {

constexpr int kValues = 5;
constexpr std::size_t kArrayBytes = 256 << 10;

struct Solver {
  cudaStream_t stream = nullptr;
  double* values = nullptr;
  unsigned char* arrays[2] = {};
  unsigned char host[kArrayBytes] = {};

  Solver() {
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&values, kValues * sizeof(double)));
    for (unsigned char*& array : arrays) CHECK(cudaMalloc(&array, kArrayBytes));
  }
};

__attribute__((noinline)) double read_value(Solver& solver, int index) {
  double value = 0;
  CHECK(cudaMemcpyAsync(&value, solver.values + index, sizeof value, cudaMemcpyDeviceToHost, solver.stream));
  CHECK(cudaStreamSynchronize(solver.stream));
  return value;
}

__attribute__((noinline)) int send(Solver& solver, int index) {
  CHECK(cudaMemcpyAsync(solver.arrays[index], solver.host, kArrayBytes, cudaMemcpyHostToDevice, solver.stream));
  return index;
}

__attribute__((noinline)) double advance(Solver& solver) {
  spin_ns<<<1, 1, 0, solver.stream>>>(300 * kMicrosecond);
  const double time = read_value(solver, 0);  // site: advance
  spin_ns<<<1, 1, 0, solver.stream>>>(200 * kMicrosecond);
  return time + read_value(solver, 1);  // site: advance again
}

__attribute__((noinline)) double residual(Solver& solver) {
  spin_ns<<<1, 1, 0, solver.stream>>>(400 * kMicrosecond);
  double sum = read_value(solver, 2);  // site: residual
  sum += read_value(solver, 3);        // site: residual again
  return sum;
}

__attribute__((noinline)) double energy(Solver& solver) {
  spin_ns<<<1, 1, 0, solver.stream>>>(100 * kMicrosecond);
  return 2 * read_value(solver, 4);  // site: energy
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::max(1, std::atoi(argv[1])) : 60;
  Solver solver;
  double sum = 0;
  for (int step = 0; step < steps; ++step) {
    int sent = send(solver, 0);  // site: first array
    sent += send(solver, 1);     // site: second array
    sum += 0 * (advance(solver) + residual(solver) + energy(solver) + sent);
  }
  std::printf("%d steps, sum %.0f\n", steps, sum);
  return 0;
}
