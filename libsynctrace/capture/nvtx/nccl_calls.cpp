// SPDX-License-Identifier: Apache-2.0
#include "capture/nvtx/nccl_calls.h"

#include <cstring>

namespace synctrace::capture {
namespace {

using enum NcclCallKind;

constexpr std::string_view kPrefix = "nccl";

constexpr NcclCall kCalls[] = {
    {"AllReduce", kCollective, 1, false},
    {"GroupStart", kGroupStart, 0, false},
    {"GroupEnd", kGroupEnd, 0, false},
    {"AllGather", kCollective, 0, false},
    {"ReduceScatter", kCollective, 1, false},
    {"Send", kSend, 1, true},
    {"Recv", kReceive, 1, true},
    {"Broadcast", kCollective, 1, true},
    {"Reduce", kCollective, 2, true},
    {"AlltoAll", kCollective, 0, false},
    {"Gather", kCollective, 1, true},
    {"Scatter", kCollective, 1, true},
    {"PutSignal", kOneSided, 2, true},
    {"Signal", kOneSided, 2, true},
    {"WaitSignal", kOneSided, 2, false},
    {"CommInitRank", kInit, 0, false},
    {"CommInitRankConfig", kInit, 0, false},
    {"CommInitRankScalable", kInit, 0, false},
    {"CommShrink", kInit, 0, false},
    {"CommInitAll", kInitAll, 0, false},
    {"CommSplit", kSplit, 0, false},
    {"CommGrow", kSplit, 0, false},
};

// The caller has made sure of the bounds.
template <class Value>
Value read_at(NvtxPayload payload, std::size_t offset) noexcept {
  Value value;
  std::memcpy(&value, payload.data + offset, sizeof(value));
  return value;
}

// Ranks are ints: a negative one is no rank.
std::uint32_t read_rank(NvtxPayload payload, std::size_t offset) noexcept {
  const auto value = read_at<std::int32_t>(payload, offset);
  return value < 0 ? 0 : static_cast<std::uint32_t>(value);
}

// No program's data lies in the first page, and the structs of payloads are aligned.
bool may_be_read(std::uint64_t address) noexcept { return address >= 4096 && address % alignof(std::uint32_t) == 0; }

}  // namespace

const NcclCall* find_nccl_call(std::string_view function) noexcept {
  if (!function.starts_with(kPrefix)) return nullptr;
  function.remove_prefix(kPrefix.size());
  for (const NcclCall& call : kCalls) {
    if (call.name == function) return &call;
  }
  return nullptr;
}

NvtxPayload first_payload(const void* payloads, std::uint64_t count) noexcept {
  struct PayloadData {  // nvtxPayloadData_t
    std::uint64_t schema;
    std::uint64_t size;
    std::uint64_t address;
  };
  constexpr std::uint64_t kLongest = 4096;  // NCCL's have at most 64 bytes; also NVTX's "unknown size", all ones
  if (count == 0 || !may_be_read(reinterpret_cast<std::uintptr_t>(payloads))) return {};
  PayloadData first;
  std::memcpy(&first, payloads, sizeof(first));
  if (first.size == 0 || first.size > kLongest || !may_be_read(first.address)) return {};
  return {reinterpret_cast<const std::byte*>(first.address), first.size};
}

// 2.25 put the communicator's hash in front of what 2.16 began with. A later version's payload may be longer: then only
// its beginning is read.
NcclOperation read_operation(const NcclCall& call, NvtxPayload payload) noexcept {
  NcclOperation operation;
  const std::size_t ints_bytes = call.ints == 0 ? 0 : sizeof(std::uint64_t);
  const bool counts_bytes = call.kind != kOneSided || call.name == "PutSignal";
  const std::size_t old_bytes = (counts_bytes ? sizeof(std::uint64_t) : 0) + ints_bytes;
  const bool has_hash = payload.bytes >= sizeof(std::uint64_t) + old_bytes;
  if (!has_hash && payload.bytes != old_bytes) return operation;
  std::size_t offset = 0;
  if (has_hash) {
    operation.hash = read_at<std::uint64_t>(payload, offset);
    offset += sizeof(std::uint64_t);
  }
  if (counts_bytes) {
    operation.bytes = read_at<std::uint64_t>(payload, offset);
    offset += sizeof(std::uint64_t);
  }
  if (call.has_peer) operation.peer = read_at<std::int32_t>(payload, offset);
  return operation;
}

NcclCommunicator read_communicator(NcclCallKind kind, NvtxPayload payload) noexcept {
  constexpr std::size_t kHash = sizeof(std::uint64_t);
  constexpr std::size_t kRank = sizeof(std::int32_t);
  const bool is_split = kind == kSplit;
  const std::size_t ranks_at = is_split ? 2 * kHash : kHash;
  const bool has_rank = kind != kInitAll;
  // Before 2.25 there were ints alone. CommInitAll's one int has four bytes of padding behind it.
  if (payload.bytes < ranks_at + 2 * kRank) return {};
  NcclCommunicator one;
  one.hash = read_at<std::uint64_t>(payload, 0);
  if (is_split) one.parent_hash = read_at<std::uint64_t>(payload, kHash);
  one.ranks = read_rank(payload, ranks_at);
  if (has_rank) one.rank = read_rank(payload, ranks_at + kRank);
  if (one.rank >= one.ranks) one.ranks = one.rank = 0;  // nonsense
  return one;
}

}  // namespace synctrace::capture
