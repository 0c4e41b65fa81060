// SPDX-License-Identifier: Apache-2.0
//
// The functions of the simulated NCCL. Nothing is sent: kernels of the simulated GPU run no code, and these only last
// as long as NCCL's would. Every operation waits for all ranks; NCCL lets the root of a broadcast go earlier.
#include "nccl/nccl_api.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "nccl/communicator.h"
#include "nccl/ranges.h"

namespace synctrace::simgpu {
namespace {

constexpr int kVersion = 22809;

thread_local int group_depth = 0;
thread_local std::vector<Operation> group;

std::uint64_t digest(const void* bytes, std::size_t count, std::uint64_t seed = 0xcbf29ce484222325) {
  for (std::size_t i = 0; i < count; ++i) seed = (seed ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3;
  return seed;
}

std::uint64_t size_of(ncclDataType_t type) {
  constexpr std::uint64_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= ncclInt8 && type <= ncclBfloat16 ? kSizes[type] : 1;
}

int current_device() {
  int device = 0;
  (void)cudaGetDevice(&device);
  return device;
}

ncclResult_t make(ncclComm_t* result, std::uint64_t hash, int ranks, int rank, const ncclConfig_t* config) {
  if (result == nullptr || ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  if (cudaFree(nullptr) != cudaSuccess) return ncclUnhandledCudaError;  // a context, as NCCL needs one
  Meeting* meeting = Meeting::join(hash, ranks);
  if (meeting == nullptr) return ncclSystemError;
  auto* comm = new ncclComm;
  comm->hash = hash;
  comm->ranks = ranks;
  comm->rank = rank;
  comm->blocking = config == nullptr || config->blocking != 0;
  comm->meeting = meeting;
  *result = comm;
  return ncclSuccess;
}

ncclResult_t init(Range& range, CommunicatorPayload& told, ncclComm_t* comm, int ranks, const ncclUniqueId& id,
                  int rank, const ncclConfig_t* config) {
  const ncclResult_t made = make(comm, digest(id.internal, sizeof id.internal), ranks, rank, config);
  if (made != ncclSuccess) return made;
  (*comm)->meeting->wait_for_all();
  told = {(*comm)->hash, ranks, rank, current_device()};
  range.tell(&told, sizeof told);
  return ncclSuccess;
}

ncclResult_t end(const char* function, ncclComm_t comm, bool aborts) {
  if (comm == nullptr) return ncclInvalidArgument;
  const CommunicatorPayload told{comm->hash, comm->ranks, comm->rank, current_device()};
  Range range(function);
  range.tell(&told, sizeof told);
  if (aborts) comm->aborted.store(true);
  return ncclSuccess;  // kernels may still refer to it
}

// Inside the range of the function that was called.
ncclResult_t run(const Operation& operation) {
  const ncclComm* comm = operation.comm;
  if (comm == nullptr || operation.peer >= comm->ranks) return ncclInvalidArgument;
  if (group_depth == 0) return launch_group({operation});
  group.push_back(operation);
  return ncclSuccess;
}

}  // namespace
}  // namespace synctrace::simgpu

using namespace synctrace::simgpu;

ncclResult_t ncclGetVersion(int* version) {
  *version = kVersion;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) { return result == ncclSuccess ? "no error" : "simulated error"; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 0, sizeof *id);
  return getrandom(id->internal, 16, 0) == 16 ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  CommunicatorPayload told;
  Range range("ncclCommInitRank");
  return init(range, told, comm, ranks, id, rank, nullptr);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  CommunicatorPayload told;
  Range range("ncclCommInitRankConfig");
  return init(range, told, comm, ranks, id, rank, config);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  const std::uint64_t hash = digest(id.internal, sizeof id.internal);
  const struct {
    std::uint64_t hash;
    int devices;
  } told{hash, count};
  Range range("ncclCommInitAll");
  int before = current_device();
  for (int i = 0; i < count; ++i) {
    (void)cudaSetDevice(devices == nullptr ? i : devices[i]);
    const ncclResult_t made = make(&comms[i], hash, count, i, nullptr);
    if (made != ncclSuccess) return made;
  }
  for (int i = 0; i < count; ++i) comms[i]->meeting->wait_for_all();
  (void)cudaSetDevice(before);
  range.tell(&told, sizeof told);
  return ncclSuccess;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* result, ncclConfig_t* config) {
  if (comm == nullptr) return ncclInvalidArgument;
  SplitPayload told;
  Range range("ncclCommSplit");
  Meeting::Wish all[kMostRanks];
  comm->meeting->exchange(comm->splits, comm->rank, {color, key}, all);
  const std::uint64_t parts[] = {comm->splits++, static_cast<std::uint64_t>(color)};
  *result = nullptr;
  if (color < 0) return ncclSuccess;
  int ranks = 0;
  int rank = 0;
  for (int i = 0; i < comm->ranks; ++i) {
    if (all[i].color != color) continue;
    ++ranks;
    if (all[i].key < key || (all[i].key == key && i < comm->rank)) ++rank;
  }
  const ncclResult_t made = make(result, digest(parts, sizeof parts, comm->hash), ranks, rank, config);
  if (made != ncclSuccess) return made;
  (*result)->meeting->wait_for_all();
  told = {(*result)->hash, comm->hash, ranks, rank, current_device(), color, key};
  range.tell(&told, sizeof told);
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) { return end("ncclCommFinalize", comm, false); }
ncclResult_t ncclCommDestroy(ncclComm_t comm) { return end("ncclCommDestroy", comm, false); }
ncclResult_t ncclCommAbort(ncclComm_t comm) { return end("ncclCommAbort", comm, true); }

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  *count = comm->ranks;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  const Range range("ncclGroupStart");
  ++group_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  const Range range("ncclGroupEnd");
  if (group_depth == 0) return ncclInvalidUsage;
  if (--group_depth != 0) return ncclSuccess;
  return launch_group(std::exchange(group, {}));
}

// Each as NCCL's payload of it: of what has one int, the second is padding.
ncclResult_t ncclAllReduce(const void*, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  const MessagePayload told{comm->hash, count * size_of(type), op, 0};
  const Range range("ncclAllReduce", &told, sizeof told);
  return run({Function::kAllReduce, comm, stream, told.bytes, -1});
}

ncclResult_t ncclAllGather(const void*, void*, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  const MessagePayload told{comm->hash, count * size_of(type), 0, 0};
  const Range range("ncclAllGather", &told, 2 * sizeof(std::uint64_t));
  return run({Function::kAllGather, comm, stream, told.bytes, -1});
}

ncclResult_t ncclReduceScatter(const void*, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  const MessagePayload told{comm->hash, count * size_of(type), op, 0};
  const Range range("ncclReduceScatter", &told, sizeof told);
  return run({Function::kReduceScatter, comm, stream, told.bytes, -1});
}

ncclResult_t ncclBroadcast(const void*, void*, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  const MessagePayload told{comm->hash, count * size_of(type), root, 0};
  const Range range("ncclBroadcast", &told, sizeof told);
  return run({Function::kBroadcast, comm, stream, told.bytes, -1});
}

ncclResult_t ncclReduce(const void*, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  const MessagePayload told{comm->hash, count * size_of(type), root, op};
  const Range range("ncclReduce", &told, sizeof told);
  return run({Function::kReduce, comm, stream, told.bytes, -1});
}

ncclResult_t ncclSend(const void*, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  const MessagePayload told{comm->hash, count * size_of(type), peer, 0};
  const Range range("ncclSend", &told, sizeof told);
  return run({Function::kSend, comm, stream, told.bytes, peer});
}

ncclResult_t ncclRecv(void*, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  const MessagePayload told{comm->hash, count * size_of(type), peer, 0};
  const Range range("ncclRecv", &told, sizeof told);
  return run({Function::kReceive, comm, stream, told.bytes, peer});
}
