// SPDX-License-Identifier: Apache-2.0
#include "nccl/communicator.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

extern "C" cudaError_t simgpu_launch_open(const char* name, unsigned blocks, cudaStream_t stream,
                                          long long (*end_of)(void* state, long long start), void* state);

namespace synctrace::simgpu {
namespace {

constexpr std::int64_t kLatencyNs = 8'000;  // for the smallest operation

double bytes_per_ns() {
  static const double value = [] {
    const char* text = std::getenv("SIMGPU_NCCL_GBPS");
    const double wanted = text == nullptr ? 0 : std::strtod(text, nullptr);
    return wanted > 0 ? wanted : 100.0;
  }();
  return value;
}

// One kernel on its way: what it waits for, and how long its bytes take.
struct FusedKernel {
  const ncclComm* comm = nullptr;
  std::vector<Meeting::Place> places;
  std::int64_t transfer_ns = kLatencyNs;
  bool has_arrived = false;
};

long long end_of(void* state, long long start) {
  auto& kernel = *static_cast<FusedKernel*>(state);
  if (!std::exchange(kernel.has_arrived, true)) {
    for (const Meeting::Place place : kernel.places) Meeting::arrive(place, start);
  }
  if (kernel.comm->aborted.load()) return start;
  std::int64_t latest = start;
  for (const Meeting::Place place : kernel.places) {
    const std::int64_t there = Meeting::all_there(place);
    if (there == 0) return 0;
    latest = std::max(latest, there);
  }
  return latest + kernel.transfer_ns;
}

Meeting::Place place_of(const Operation& operation) {
  ncclComm& comm = *operation.comm;
  switch (operation.function) {
    case Function::kSend: return comm.meeting->transfer(comm.rank, operation.peer, comm.sends[operation.peer]++);
    case Function::kReceive: return comm.meeting->transfer(operation.peer, comm.rank, comm.receives[operation.peer]++);
    default: return comm.meeting->collective(comm.collectives++);
  }
}

// The name that tools see. NCCL has kernels for a few combinations, and runs the others inside these.
const char* kernel_name(Function function) {
  const auto mangled = [](const std::string& name) {
    return "_Z" + std::to_string(name.size()) + name + "24ncclDevKernelArgsStorageILm4096EE";
  };
  static const std::string all_reduce = mangled("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  static const std::string all_gather = mangled("ncclDevKernel_AllGather_RING_LL");
  static const std::string reduce_scatter = mangled("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL");
  static const std::string broadcast = mangled("ncclDevKernel_Broadcast_RING_LL");
  static const std::string reduce = mangled("ncclDevKernel_Reduce_Sum_f32_RING_LL");
  static const std::string send_receive = mangled("ncclDevKernel_SendRecv");
  switch (function) {
    case Function::kAllReduce: return all_reduce.c_str();
    case Function::kAllGather: return all_gather.c_str();
    case Function::kReduceScatter: return reduce_scatter.c_str();
    case Function::kBroadcast: return broadcast.c_str();
    case Function::kReduce: return reduce.c_str();
    default: return send_receive.c_str();
  }
}

bool is_one_kernel(const Operation& a, const Operation& b) { return a.comm == b.comm && a.stream == b.stream; }

ncclResult_t launch_all(std::vector<Operation> operations) {
  while (!operations.empty()) {
    const Operation first = operations.front();
    auto* kernel = new FusedKernel;  // the runtime may ask it until the process ends
    kernel->comm = first.comm;
    std::uint64_t bytes = 0;
    for (const Operation& operation : operations) {
      if (!is_one_kernel(operation, first)) continue;
      kernel->places.push_back(place_of(operation));
      bytes += operation.bytes;
    }
    std::erase_if(operations, [&](const Operation& operation) { return is_one_kernel(operation, first); });
    kernel->transfer_ns += static_cast<std::int64_t>(static_cast<double>(bytes) / bytes_per_ns());
    if (simgpu_launch_open(kernel_name(first.function), 16, first.stream, &end_of, kernel) != cudaSuccess)
      return ncclUnhandledCudaError;
  }
  return ncclSuccess;
}

}  // namespace

ncclResult_t launch_group(std::vector<Operation> operations) {
  const bool blocking =
      std::all_of(operations.begin(), operations.end(), [](const Operation& one) { return one.comm->blocking; });
  if (blocking) return launch_all(std::move(operations));
  // NCCL's answer would be "in progress"; joining at once keeps the order and shows the same launches to a tool.
  ncclResult_t result = ncclSuccess;
  std::thread([&] { result = launch_all(std::move(operations)); }).join();
  return result;
}

}  // namespace synctrace::simgpu
