// SPDX-License-Identifier: Apache-2.0
// What NCCL's own NVTX ranges tell: which function, and the payload of its parameters. NCCL 2.16 to 2.30; the layouts
// are told apart by name and size, never by the schema's number, which moves between versions. No state; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace synctrace::capture {

inline constexpr std::string_view kNcclDomain = "NCCL";

enum class NcclCallKind : std::uint8_t {
  kCollective,
  kSend,
  kReceive,
  kOneSided,  // no other rank calls the same
  kGroupStart,
  kGroupEnd,
  kInit,     // payload: hash, ranks, rank
  kInitAll,  // hash, ranks
  kSplit,    // hash, the parent's, ranks, rank
};

struct NcclCall {
  std::string_view name;  // without "nccl"; lives as long as the process
  NcclCallKind kind;
  std::uint8_t ints;  // how many lie behind the bytes of an operation's payload
  bool has_peer;      // the first of them is the root or peer
};

// By NCCL's name of the function; null for functions that neither ask for an operation nor make a communicator.
const NcclCall* find_nccl_call(std::string_view function) noexcept;

constexpr bool is_nccl_operation(NcclCallKind kind) noexcept { return kind <= NcclCallKind::kOneSided; }
constexpr bool makes_communicator(NcclCallKind kind) noexcept { return kind >= NcclCallKind::kInit; }

// A payload as the caller handed it over. Its memory is the program's.
struct NvtxPayload {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// The first of an array of payloads (nvtxPayloadData_t); none where there is nothing to read.
NvtxPayload first_payload(const void* payloads, std::uint64_t count) noexcept;

struct NcclOperation {
  std::uint64_t hash = 0;  // the communicator's; 0: NCCL before 2.25 does not say
  std::uint64_t bytes = 0;
  std::int32_t peer = -1;
};

// What the payload says; all unknown where its size is that of no version.
NcclOperation read_operation(const NcclCall& call, NvtxPayload payload) noexcept;

struct NcclCommunicator {
  std::uint64_t hash = 0;  // 0: nothing is known
  std::uint64_t parent_hash = 0;
  std::uint32_t ranks = 0;
  std::uint32_t rank = 0;
};
NcclCommunicator read_communicator(NcclCallKind kind, NvtxPayload payload) noexcept;

}  // namespace synctrace::capture
