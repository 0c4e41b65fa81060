// SPDX-License-Identifier: Apache-2.0
//
// NCCL's NVTX ranges, as NCCL 2.25 to 2.30 opens and closes them: domain "NCCL", named by the function, with the
// parameters as payload. A call that makes or ends a communicator gets its payload at the end, by the payload
// extension's pop.
#pragma once

#include <cstddef>
#include <cstdint>

namespace synctrace::simgpu {

struct MessagePayload {
  std::uint64_t hash;
  std::size_t bytes;
  int first;   // root, peer, or the reduction
  int second;  // the reduction of what has a root
};
struct CommunicatorPayload {
  std::uint64_t hash;
  int ranks;
  int rank;
  int device;
};
struct SplitPayload {
  std::uint64_t hash;
  std::uint64_t parent;
  int ranks;
  int rank;
  int device;
  int color;
  int key;
};

class Range {
 public:
  explicit Range(const char* function, const void* payload = nullptr, std::size_t bytes = 0);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

  // Payload of the range's end. The memory is the caller's, and must outlive the range.
  void tell(const void* payload, std::size_t bytes) {
    payload_ = payload;
    bytes_ = bytes;
  }

 private:
  const void* payload_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace synctrace::simgpu
