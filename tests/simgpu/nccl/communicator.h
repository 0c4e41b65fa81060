// SPDX-License-Identifier: Apache-2.0
//
// A communicator, and how its operations become kernels: the operations of a group on one stream are one kernel, which
// begins when its stream lets it and ends when all ranks have begun theirs and the bytes have gone over.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "nccl/meeting.h"
#include "nccl/nccl_api.h"

// NCCL's own name of the type: programs hold pointers to it.
struct ncclComm {
  std::uint64_t hash = 0;
  int ranks = 0;
  int rank = 0;
  bool blocking = true;
  synctrace::simgpu::Meeting* meeting = nullptr;  // lives as long as the process: kernels may be on their way
  std::atomic<bool> aborted{false};
  std::uint64_t splits = 0;
  // By the one thread that may use a communicator at a time.
  std::uint64_t collectives = 0;
  std::uint64_t sends[synctrace::simgpu::kMostRanks] = {};
  std::uint64_t receives[synctrace::simgpu::kMostRanks] = {};
};

namespace synctrace::simgpu {

enum class Function { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce, kSend, kReceive };

struct Operation {
  Function function;
  ncclComm* comm;
  cudaStream_t stream;
  std::uint64_t bytes;
  int peer;
};

// Gives a group's operations to the device, on the calling thread, or where a communicator is nonblocking on a new one.
ncclResult_t launch_group(std::vector<Operation> operations);

}  // namespace synctrace::simgpu
