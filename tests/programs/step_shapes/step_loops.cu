// SPDX-License-Identifier: Apache-2.0
// step_loops SHAPE: loops of C++ programs whose steps are known; the last line tells them. On a GPU and on the
// simulated one.
#include <cuda_runtime.h>

#include <cstring>
#include <string>

#include "truth.h"

namespace {

constexpr int kCells = 1 << 16;
constexpr int kBlocks = kCells / 256;

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(1);
}

template <int kind>
__global__ void sweep(float* cells, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 8 + kind; ++k) cells[i] = cells[i] * factor + 1.0f / (kind + 1);
}

__global__ void dot(const float* cells, float* sum) { atomicAdd(sum, cells[blockIdx.x * blockDim.x + threadIdx.x]); }
__global__ void scatter(float* cells, int turn) { cells[(blockIdx.x * 997 + turn) % kCells] += 1.0f; }

template <int kind>
void launch(float* cells, cudaStream_t stream = nullptr) {
  sweep<kind><<<kBlocks, 256, 0, stream>>>(cells, 0.5f);
}

struct Memory {
  float* cells = nullptr;
  float* sum = nullptr;
  float* pinned = nullptr;
  Memory() {
    check(cudaMalloc(&cells, kCells * sizeof(float)));
    check(cudaMalloc(&sum, sizeof(float)));
    check(cudaMallocHost(&pinned, kCells * sizeof(float)));
    std::memset(pinned, 0, kCells * sizeof(float));
    check(cudaMemset(cells, 0, kCells * sizeof(float)));
  }
};

// Each iteration waits for its work.
void sync_each(Memory& memory) {
  Phase phase("iterate", __FILE__);
  phase.begin(__LINE__);
  for (int i = 0; i < 150; ++i) {
    for (int k = 0; k < 10; ++k) launch<0>(memory.cells);
    launch<1>(memory.cells);
    scatter<<<8, 32>>>(memory.cells, i);
    check(cudaStreamSynchronize(nullptr));
    phase.step(__LINE__);
  }
  Phase::tell();
}

// Nothing waits but a line of the log, each 25 iterations.
void log_line(Memory& memory) {
  Phase phase("iterate", __FILE__);
  phase.begin(__LINE__);
  for (int i = 0; i < 200; ++i) {
    launch<0>(memory.cells);
    for (int k = 0; k < 6; ++k) launch<1>(memory.cells);
    launch<2>(memory.cells);
    dot<<<kBlocks, 256>>>(memory.cells, memory.sum);
    if (i % 25 == 24) {
      float sum = 0;
      check(cudaMemcpy(&sum, memory.sum, sizeof sum, cudaMemcpyDeviceToHost));
      std::fprintf(stderr, "%d %s\n", i, sum == sum ? "finite" : "not finite");
    }
    phase.step(__LINE__);
  }
  Phase::tell();
}

// Time steps, each of iterations until a residual that the host reads is small; as many as differ from step to step.
void solver(Memory& memory) {
  Phase phase("iterate", __FILE__);
  for (int turn = 0; turn < 10; ++turn) {
    launch<3>(memory.cells);
    check(cudaMemcpyAsync(memory.cells, memory.pinned, 4096, cudaMemcpyHostToDevice));
    phase.begin(__LINE__);
    for (int iteration = 0; iteration < 12 + turn * 5 % 9; ++iteration) {
      for (int k = 0; k < 4; ++k) launch<0>(memory.cells);
      launch<1>(memory.cells);
      dot<<<kBlocks, 256>>>(memory.cells, memory.sum);
      float residual = 0;
      check(cudaMemcpy(&residual, memory.sum, sizeof residual, cudaMemcpyDeviceToHost));
      if (residual < 0) break;
      phase.step(__LINE__);
    }
    launch<4>(memory.cells);
  }
  Phase::tell();
}

// One stream copies the next batch while the other computes.
void two_streams(Memory& memory) {
  cudaStream_t compute = nullptr;
  cudaStream_t copies = nullptr;
  cudaEvent_t copied = nullptr;
  check(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  check(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
  check(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  Phase phase("batches", __FILE__);
  phase.begin(__LINE__);
  for (int i = 0; i < 120; ++i) {
    check(cudaMemcpyAsync(memory.cells, memory.pinned, kCells, cudaMemcpyHostToDevice, copies));
    check(cudaEventRecord(copied, copies));
    check(cudaStreamWaitEvent(compute, copied));
    for (int k = 0; k < 8; ++k) launch<0>(memory.cells, compute);
    launch<2>(memory.cells, compute);
    if (i % 2 == 1) check(cudaStreamSynchronize(compute));
    phase.step(__LINE__);
  }
  check(cudaDeviceSynchronize());
  Phase::tell();
}

// A step is one graph.
void graph_step(Memory& memory) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int k = 0; k < 30; ++k) launch<0>(memory.cells, stream);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  Phase phase("iterate", __FILE__);
  phase.begin(__LINE__);
  for (int i = 0; i < 180; ++i) {
    check(cudaGraphLaunch(executable, stream));
    if (i % 30 == 29) check(cudaStreamSynchronize(stream));
    phase.step(__LINE__);
  }
  check(cudaStreamSynchronize(stream));
  Phase::tell();
}

// Epochs of batches, and a validation after each. Training takes clearly longer on the host: it waits for nothing, so
// what it is ahead is waited for by the first read of the validation.
void two_phases(Memory& memory) {
  Phase training("train", __FILE__);
  Phase validation("validate", __FILE__);
  for (int epoch = 0; epoch < 4; ++epoch) {
    training.begin(__LINE__);
    for (int i = 0; i < 120; ++i) {
      check(cudaMemcpyAsync(memory.cells, memory.pinned, 8192, cudaMemcpyHostToDevice));
      for (int k = 0; k < 20; ++k) launch<0>(memory.cells);
      for (int k = 0; k < 20; ++k) launch<1>(memory.cells);
      launch<3>(memory.cells);
      training.step(__LINE__);
    }
    validation.begin(__LINE__);
    for (int i = 0; i < 12; ++i) {
      check(cudaMemcpyAsync(memory.cells, memory.pinned, 8192, cudaMemcpyHostToDevice));
      for (int k = 0; k < 20; ++k) launch<0>(memory.cells);
      float sum = 0;
      check(cudaMemcpy(&sum, memory.sum, sizeof sum, cudaMemcpyDeviceToHost));
      validation.step(__LINE__);
    }
  }
  Phase::tell();
}

float read_sum(Memory& memory) {
  float sum = 0;
  dot<<<kBlocks, 256>>>(memory.cells, memory.sum);
  check(cudaMemcpy(&sum, memory.sum, sizeof sum, cudaMemcpyDeviceToHost));
  return sum;
}

// Five values of a time step are read through one function.
void wait_helper(Memory& memory) {
  Phase phase("time step", __FILE__);
  float worst = 0;
  phase.begin(__LINE__);
  for (int i = 0; i < 120; ++i) {
    launch<0>(memory.cells);
    worst += read_sum(memory);
    launch<1>(memory.cells);
    launch<1>(memory.cells);
    worst += read_sum(memory);
    worst -= read_sum(memory);
    launch<2>(memory.cells);
    worst += read_sum(memory);
    launch<3>(memory.cells);
    scatter<<<8, 32>>>(memory.cells, i);
    worst -= read_sum(memory);
    phase.step(__LINE__);
  }
  std::fprintf(stderr, "%s\n", worst == worst ? "finite" : "not finite");
  Phase::tell();
}

// A cycle over levels of a grid, down and up.
void levels(Memory& memory) {
  Phase phase("cycle", __FILE__);
  phase.begin(__LINE__);
  for (int i = 0; i < 100; ++i) {
    for (int level = 0; level < 5; ++level) {
      launch<0>(memory.cells);
      launch<0>(memory.cells);
      launch<1>(memory.cells);
    }
    launch<4>(memory.cells);
    for (int level = 0; level < 5; ++level) {
      launch<2>(memory.cells);
      launch<0>(memory.cells);
      launch<0>(memory.cells);
    }
    if (read_sum(memory) < -1) break;
    phase.step(__LINE__);
  }
  Phase::tell();
}

// One graph six times a step.
void many_graphs(Memory& memory) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int k = 0; k < 10; ++k) launch<0>(memory.cells, stream);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  Phase phase("replays", __FILE__);
  phase.begin(__LINE__);
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 6; ++k) check(cudaGraphLaunch(executable, stream));
    launch<3>(memory.cells, stream);
    check(cudaStreamSynchronize(stream));
    phase.step(__LINE__);
  }
  Phase::tell();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string shape = argc > 1 ? argv[1] : "";
  Memory memory;
  if (shape == "sync_each")
    sync_each(memory);
  else if (shape == "log_line")
    log_line(memory);
  else if (shape == "solver")
    solver(memory);
  else if (shape == "two_streams")
    two_streams(memory);
  else if (shape == "graph_step")
    graph_step(memory);
  else if (shape == "two_phases")
    two_phases(memory);
  else if (shape == "wait_helper")
    wait_helper(memory);
  else if (shape == "levels")
    levels(memory);
  else if (shape == "many_graphs")
    many_graphs(memory);
  else {
    std::fprintf(stderr,
                 "usage: step_loops sync_each|log_line|solver|two_streams|graph_step|two_phases|wait_helper|levels|"
                 "many_graphs\n");
    return 2;
  }
  return 0;
}
