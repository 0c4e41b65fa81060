// SPDX-License-Identifier: Apache-2.0
// The names behind NVTX's handles: domains and registered strings. Kept in an arena that lives as long as the process,
// because the program may use a handle at any time. Creating takes a spin lock and is rare; looking up takes nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "capture/events/trace_stream.h"

struct nvtxDomainRegistration_st;
struct nvtxStringRegistration_st;

namespace synctrace::capture {

class NvtxNames {
 public:
  // One handle a name; a table that is full answers the default domain's null handle.
  nvtxDomainRegistration_st* create_domain(std::string_view name) noexcept;

  // A null handle, whose text is empty, when the arena is full.
  nvtxStringRegistration_st* register_text(std::string_view text) noexcept;

  // Drain thread only: defines the domains that were created since the last call.
  void drain(TraceStream& out) noexcept;

  // Before another trace begins: it knows no domain.
  void forget_written() noexcept { written_domains_ = 0; }

  bool is_nccl(NvtxDomainId domain) const noexcept {
    return domain != NvtxDomainId{} && domain == nccl_domain_.load(std::memory_order_relaxed);
  }

  // 1, 2, 3...: of a range that may end on another thread.
  std::uint64_t next_range() noexcept { return range_count_.fetch_add(1, std::memory_order_relaxed) + 1; }

  struct Name;

 private:
  Name* new_name(std::string_view text, std::uint32_t id) noexcept;

  static constexpr std::size_t kMaxDomains = 256;  // programs have a handful: their own, NCCL's, cuBLAS's...

  std::atomic<std::uint64_t> range_count_{0};
  std::atomic<NvtxDomainId> nccl_domain_{};
  std::atomic_flag lock_;
  std::byte* arena_ = nullptr;
  std::size_t arena_used_ = 0;
  std::array<std::atomic<Name*>, kMaxDomains> domains_{};
  std::atomic<std::size_t> domain_count_{0};
  std::size_t written_domains_ = 0;  // drain thread only
};

// The recorder's. It works before the recorder starts: a program may name its domains before its first CUDA call.
[[gnu::visibility("hidden")]] extern NvtxNames& nvtx_names;

NvtxDomainId domain_id(nvtxDomainRegistration_st* handle) noexcept;
std::string_view registered_text(nvtxStringRegistration_st* handle) noexcept;

// UTF-32 to UTF-8: the number of bytes written to `out`, at most `room`, whole characters only.
std::size_t to_utf8(const wchar_t* text, char* out, std::size_t room) noexcept;

}  // namespace synctrace::capture
