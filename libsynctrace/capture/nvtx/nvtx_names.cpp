// SPDX-License-Identifier: Apache-2.0
#include "capture/nvtx/nvtx_names.h"

#include <sched.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include "capture/nvtx/nvtx_handler.h"

namespace synctrace::capture {
namespace {

struct Name {
  std::uint32_t id;  // of a domain
  std::uint32_t length;
  char text[];

  std::string_view view() const noexcept { return {text, length}; }
};

constexpr std::size_t kArenaBytes = 4U << 20;  // virtual; touched as names come. Enough for 60,000 names.
constexpr std::size_t kMaxDomains = 256;       // programs have a handful: their own, NCCL's, cuBLAS's...

std::atomic_flag lock;
std::byte* arena = nullptr;
std::size_t arena_used = 0;
std::array<std::atomic<Name*>, kMaxDomains> domains{};
std::atomic<std::size_t> domain_count{0};
std::size_t written_domains = 0;  // drain thread only

class Locked {
 public:
  Locked() noexcept {
    while (lock.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ~Locked() { lock.clear(std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

// With the lock held.
Name* new_name(std::string_view text, std::uint32_t id) noexcept {
  if (arena == nullptr) {
    void* memory = mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    arena = static_cast<std::byte*>(memory);
  }
  const std::size_t bytes = (sizeof(Name) + text.size() + 7) & ~std::size_t{7};
  if (kArenaBytes - arena_used < bytes) return nullptr;
  Name* name = new (arena + arena_used) Name{id, static_cast<std::uint32_t>(text.size())};
  std::memcpy(name->text, text.data(), text.size());
  arena_used += bytes;
  return name;
}

}  // namespace

nvtxDomainRegistration_st* create_domain(std::string_view text) noexcept {
  Locked locked;
  const std::size_t count = domain_count.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    Name* known = domains[i].load(std::memory_order_relaxed);
    if (known->view() == text) return reinterpret_cast<nvtxDomainRegistration_st*>(known);
  }
  if (count == kMaxDomains) return nullptr;
  Name* name = new_name(text, static_cast<std::uint32_t>(count + 1));
  if (name == nullptr) return nullptr;
  domains[count].store(name, std::memory_order_relaxed);
  domain_count.store(count + 1, std::memory_order_release);
  return reinterpret_cast<nvtxDomainRegistration_st*>(name);
}

NvtxDomainId domain_id(nvtxDomainRegistration_st* handle) noexcept {
  return handle == nullptr ? NvtxDomainId{} : static_cast<NvtxDomainId>(reinterpret_cast<const Name*>(handle)->id);
}

nvtxStringRegistration_st* register_text(std::string_view text) noexcept {
  Locked locked;
  return reinterpret_cast<nvtxStringRegistration_st*>(new_name(text, 0));
}

std::string_view registered_text(nvtxStringRegistration_st* handle) noexcept {
  return handle == nullptr ? std::string_view{} : reinterpret_cast<const Name*>(handle)->view();
}

std::size_t to_utf8(const wchar_t* text, char* out, std::size_t room) noexcept {
  std::size_t used = 0;
  for (; *text != L'\0'; ++text) {
    const auto code = static_cast<std::uint32_t>(*text);
    const bool valid = code < 0x110000 && (code < 0xd800 || code > 0xdfff);
    const std::uint32_t c = valid ? code : 0xfffd;
    const std::size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (room - used < bytes) break;
    constexpr std::array<std::uint32_t, 5> kLead = {0, 0, 0xc0, 0xe0, 0xf0};
    for (std::size_t i = bytes; i-- > 1;)
      out[used + i] = static_cast<char>(0x80 | ((c >> (6 * (bytes - 1 - i))) & 0x3f));
    out[used] = static_cast<char>(kLead[bytes] | (c >> (6 * (bytes - 1))));
    used += bytes;
  }
  return used;
}

void drain_nvtx_domains(TraceStream& out) noexcept {
  const std::size_t count = domain_count.load(std::memory_order_acquire);
  for (; written_domains < count; ++written_domains) {
    const Name* name = domains[written_domains].load(std::memory_order_relaxed);
    out.add(format::NvtxDomain{static_cast<NvtxDomainId>(name->id), name->view()});
  }
}

}  // namespace synctrace::capture
