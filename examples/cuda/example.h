// SPDX-License-Identifier: Apache-2.0
// What every example needs beside CUDA: its two options, a check of return codes, host work of a given length, and the
// lines at the end. stdout is the same in every run (a checksum of data that went through the device); the step time,
// which is not, goes to stderr.
#pragma once

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check((call), #call)

struct Options {
  int steps;
  bool fixed = false;  // run the repaired form of the program: the pair of the README
};

inline Options parse_options(int argc, char** argv, int default_steps) {
  Options options{default_steps};
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--fixed") == 0) {
      options.fixed = true;
    } else if (std::strcmp(argv[i], "--steps") == 0 && i + 1 < argc) {
      options.steps = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: %s [--steps N] [--fixed]\n", argv[0]);
      std::exit(2);
    }
  }
  if (options.steps < 1) options.steps = 1;
  return options;
}

// Occupies the calling thread for `ns`, as the host's part of a step would.
inline void host_work(long long ns) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
  while (std::chrono::steady_clock::now() < until) {
  }
}

// FNV-1a over whatever came back from the device.
inline std::uint64_t checksum(const void* data, std::size_t bytes, std::uint64_t seed = 14695981039346656037ull) {
  const auto* bytes_in = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) seed = (seed ^ bytes_in[i]) * 1099511628211ull;
  return seed;
}

// The run from construction to report(): the mean step and the checksum line.
class Run {
 public:
  Run(const char* name, const Options& options) : name_(name), options_(options) {}

  int report(std::uint64_t sum) const {
    CHECK(cudaDeviceSynchronize());
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start_;
    std::printf("%s: %d steps, checksum %016llx\n", name_, options_.steps, static_cast<unsigned long long>(sum));
    std::fprintf(stderr, "%s: %.3f ms per step\n", name_, elapsed.count() / options_.steps);
    return 0;
  }

 private:
  const char* name_;
  Options options_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// One training step on the NVTX timeline; synctrace takes ranges named "step" as steps.
class Step {
 public:
  Step() { nvtxRangePushA("step"); }
  ~Step() { nvtxRangePop(); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
};
