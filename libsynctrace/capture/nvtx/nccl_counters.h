// SPDX-License-Identifier: Apache-2.0
// The communicators of the process and how many operations each has had. Counted also while nothing is recorded, so
// that the same number is the same operation on all ranks. Tables of fixed size, no lock: any thread counts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "capture/events/trace_stream.h"
#include "capture/nvtx/nccl_calls.h"

namespace synctrace::capture {

class NcclCounters {
 public:
  // The numbers of the next operation, as format::Collective has them; all zero where there is no room.
  struct Place {
    CommunicatorId communicator{};
    std::uint64_t number = 0;
    std::uint64_t turn = 0;
  };
  Place count(NcclCallKind kind, const NcclOperation& operation, std::int64_t now_ns) noexcept;

  // What a call that makes a communicator told about it.
  void learn(const NcclCommunicator& told, std::int64_t now_ns) noexcept;

  // 1, 2, 3...: of a group of operations.
  std::uint64_t next_group() noexcept { return groups_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // Drain thread only: writes the communicators that are new or better known, the version of NCCL at the first of them,
  // and what found no room.
  void drain(TraceStream& out) noexcept;

  // Before another trace begins: it knows no communicator.
  void forget_written() noexcept;

 private:
  // A process has tens; those that ended keep their place.
  static constexpr std::size_t kMostCommunicators = 4096;
  static constexpr std::size_t kMostPeers = 16384;
  static constexpr std::size_t kMostLooks = 64;

  struct Communicator {
    std::atomic<std::uint64_t> key;  // the hash; 0: free
    std::atomic<std::uint64_t> operations;
    std::atomic<std::uint64_t> collectives;
    std::atomic<std::uint64_t> parent_hash;
    std::atomic<std::int64_t> first_ns;
    std::atomic<std::uint32_t> ranks;
    std::atomic<std::uint32_t> rank;
    std::atomic<std::uint32_t> version;  // 0: its fields are being filled
    std::uint32_t written_version;       // drain thread only
  };
  struct Peer {
    std::atomic<std::uint64_t> key;  // communicator, direction and rank; 0: free
    std::atomic<std::uint64_t> operations;
  };

  Communicator* find_or_add(std::uint64_t hash, std::int64_t now_ns) noexcept;
  std::uint64_t count_peer(CommunicatorId communicator, bool sends, std::int32_t peer) noexcept;
  CommunicatorId id_of(const Communicator& one) const noexcept {
    return static_cast<CommunicatorId>(&one - communicators_.data() + 1);
  }
  void ask_version() noexcept;
  void write_version(TraceStream& out) noexcept;
  void note_change() noexcept { changes_.fetch_add(1, std::memory_order_release); }

  std::atomic<std::uint64_t> groups_{0};
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<int> version_{0};      // NCCL's own number; 0: not known yet
  bool is_version_written_ = false;  // drain thread only
  std::uint64_t seen_changes_ = 0;   // drain thread only
  std::array<Communicator, kMostCommunicators> communicators_{};
  std::array<Peer, kMostPeers> peers_{};
};

// The recorder's.
[[gnu::visibility("hidden")]] extern NcclCounters& nccl_counters;

}  // namespace synctrace::capture
