// SPDX-License-Identifier: Apache-2.0
// One rank of a data-parallel training loop, as DDP makes it: gradients of four buckets are reduced on a stream of
// their own while the next bucket's are computed. A fault can be planted on one rank. Which rank it is the launcher
// says: torchrun, Open MPI, MPICH or Slurm.
//
//   ranks FOLDER STEPS [FAULT RANK AMOUNT]...    rank -1: all ranks
//
//   host, read, kernel  as many ms longer in each step        die   by SIGKILL at half of the steps
//   layers              as many small kernels in each step    exit  with that status in the end
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>
#include <map>
#include <string>

#include "../simgpu/nccl/nccl_api.h"
#include "example.h"
#include "spin.h"

namespace {

constexpr int kBuckets = 4;
constexpr std::size_t kBucketFloats = 1 << 18;

#define NCCL(call)                                                                \
  do {                                                                            \
    if ((call) != ncclSuccess) std::fprintf(stderr, "%s\n", #call), std::exit(1); \
  } while (false)

int number_from(std::initializer_list<const char*> variables, int otherwise) {
  for (const char* variable : variables) {
    if (const char* text = std::getenv(variable)) return std::atoi(text);
  }
  return otherwise;
}

// Rank 0 makes the id, the others find it in the folder.
ncclUniqueId share_id(const std::string& folder, int rank) {
  ncclUniqueId id;
  const std::string name = folder + "/nccl_id";
  const std::string unfinished = name + ".new";
  if (rank == 0) {
    NCCL(ncclGetUniqueId(&id));
    const int file = open(unfinished.c_str(), O_CREAT | O_WRONLY, 0600);
    if (write(file, &id, sizeof id) != sizeof id || rename(unfinished.c_str(), name.c_str()) != 0) std::exit(1);
    close(file);
    return id;
  }
  int file = -1;
  while ((file = open(name.c_str(), O_RDONLY)) < 0) usleep(1000);
  if (read(file, &id, sizeof id) != sizeof id) std::exit(1);
  close(file);
  return id;
}

using Faults = std::map<std::string, int>;  // with their amounts

struct Rank {
  int rank;
  int ranks;
  ncclComm_t comm;
  cudaStream_t compute;
  cudaStream_t communication;
  cudaEvent_t ready;
  cudaEvent_t reduced;
  float* gradients;
};

// By the thread's own clock, so that a busy machine takes nothing of it.
__attribute__((noinline)) void slow_host_work(int ms) {
  timespec begin;
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    for (volatile int i = 0; i < 20'000; i = i + 1) {
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 * kMillisecond + now.tv_nsec - begin.tv_nsec < ms * kMillisecond);
}

__attribute__((noinline)) void slow_read(const Rank& self, int ms) {
  spin_ns<<<1, 1, 0, self.compute>>>(ms * kMillisecond);
  float loss = 0;
  CHECK(cudaMemcpyAsync(&loss, self.gradients, sizeof loss, cudaMemcpyDeviceToHost, self.compute));
  CHECK(cudaStreamSynchronize(self.compute));
}

void forward(const Rank& self, const Faults& faults) {
  if (faults.count("host")) slow_host_work(faults.at("host"));
  if (faults.count("read")) slow_read(self, faults.at("read"));
  const long long slower = faults.count("kernel") ? faults.at("kernel") * kMillisecond : 0;
  spin_ns<<<1, 1, 0, self.compute>>>(kMillisecond + slower);
  const int layers = faults.count("layers") ? faults.at("layers") : 0;
  for (int i = 0; i < layers; ++i) spin_ns<<<1, 1, 0, self.compute>>>(kMillisecond / 100);
}

void backward(const Rank& self) {
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    spin_ns<<<1, 1, 0, self.compute>>>(kMillisecond / 2);
    CHECK(cudaEventRecord(self.ready, self.compute));
    CHECK(cudaStreamWaitEvent(self.communication, self.ready, 0));
    float* gradients = self.gradients + bucket * kBucketFloats;
    NCCL(ncclAllReduce(gradients, gradients, kBucketFloats, ncclFloat32, ncclSum, self.comm, self.communication));
  }
  CHECK(cudaEventRecord(self.reduced, self.communication));
  CHECK(cudaStreamWaitEvent(self.compute, self.reduced, 0));
}

// A ring: to the next rank and from the previous one, in one group.
void pass_on(const Rank& self) {
  NCCL(ncclGroupStart());
  NCCL(ncclSend(self.gradients, 1024, ncclFloat32, (self.rank + 1) % self.ranks, self.comm, self.communication));
  NCCL(ncclRecv(self.gradients, 1024, ncclFloat32, (self.rank + self.ranks - 1) % self.ranks, self.comm,
                self.communication));
  NCCL(ncclGroupEnd());
}

// What a framework does first: parameters from rank 0 in one group, and a communicator for each half of the ranks.
void set_up(const Rank& self) {
  NCCL(ncclGroupStart());
  for (int i = 0; i < 2; ++i)
    NCCL(ncclBroadcast(self.gradients, self.gradients, kBucketFloats, ncclFloat32, 0, self.comm, self.communication));
  NCCL(ncclGroupEnd());
  ncclComm_t half;
  NCCL(ncclCommSplit(self.comm, self.rank % 2, self.rank, &half, nullptr));
  NCCL(ncclAllGather(self.gradients, self.gradients, 256, ncclFloat32, half, self.communication));
  CHECK(cudaStreamSynchronize(self.communication));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc % 3 != 0) return std::fprintf(stderr, "usage: ranks FOLDER STEPS [FAULT RANK AMOUNT]...\n"), 2;
  Rank self{};
  self.rank = number_from({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}, 0);
  self.ranks = number_from({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}, 1);
  const int steps = std::atoi(argv[2]);
  Faults faults;
  for (int i = 3; i + 2 < argc; i += 3) {
    const int rank = std::atoi(argv[i + 1]);
    if (rank == self.rank || rank == -1) faults[argv[i]] = std::atoi(argv[i + 2]);
  }
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  CHECK(cudaSetDevice(number_from({"LOCAL_RANK"}, self.rank) % devices));
  CHECK(cudaStreamCreateWithFlags(&self.compute, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&self.communication, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&self.ready, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&self.reduced, cudaEventDisableTiming));
  CHECK(cudaMalloc(&self.gradients, kBuckets * kBucketFloats * sizeof(float)));
  NCCL(ncclCommInitRank(&self.comm, self.ranks, share_id(argv[1], self.rank), self.rank));
  set_up(self);
  for (int step = 0; step < steps; ++step) {
    const Step range;
    if (faults.count("die") && step == steps / 2) raise(SIGKILL);
    forward(self, faults);
    backward(self);
    if (step % 8 == 0) pass_on(self);
    spin_ns<<<1, 1, 0, self.compute>>>(kMillisecond / 2);
    CHECK(cudaStreamSynchronize(self.compute));
    CHECK(cudaStreamSynchronize(self.communication));
  }
  NCCL(ncclCommDestroy(self.comm));
  std::printf("rank %d of %d: %d steps\n", self.rank, self.ranks, steps);
  return faults.count("exit") ? faults.at("exit") : 0;
}
