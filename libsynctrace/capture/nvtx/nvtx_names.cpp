// SPDX-License-Identifier: Apache-2.0
#include "capture/nvtx/nvtx_names.h"

#include <sched.h>
#include <sys/mman.h>

#include <cstring>
#include <new>

#include "capture/nvtx/nccl_calls.h"

namespace synctrace::capture {

struct NvtxNames::Name {
  std::uint32_t id;  // a domain's
  std::uint32_t length;
  char text[];

  std::string_view view() const noexcept { return {text, length}; }
};

namespace {

constexpr std::size_t kArenaBytes = 4U << 20;  // virtual; touched as names come. Enough for 60,000 names.

class Locked {
 public:
  explicit Locked(std::atomic_flag& lock) noexcept : lock_(lock) {
    while (lock_.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ~Locked() { lock_.clear(std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  std::atomic_flag& lock_;
};

}  // namespace

// With the lock held.
NvtxNames::Name* NvtxNames::new_name(std::string_view text, std::uint32_t id) noexcept {
  if (arena_ == nullptr) {
    void* memory = mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    arena_ = static_cast<std::byte*>(memory);
  }
  const std::size_t bytes = (sizeof(Name) + text.size() + 7) & ~std::size_t{7};
  if (kArenaBytes - arena_used_ < bytes) return nullptr;
  Name* name = new (arena_ + arena_used_) Name{id, static_cast<std::uint32_t>(text.size())};
  std::memcpy(name->text, text.data(), text.size());
  arena_used_ += bytes;
  return name;
}

nvtxDomainRegistration_st* NvtxNames::create_domain(std::string_view text) noexcept {
  Locked locked(lock_);
  const std::size_t count = domain_count_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    Name* known = domains_[i].load(std::memory_order_relaxed);
    if (known->view() == text) return reinterpret_cast<nvtxDomainRegistration_st*>(known);
  }
  if (count == kMaxDomains) return nullptr;
  Name* name = new_name(text, static_cast<std::uint32_t>(count + 1));
  if (name == nullptr) return nullptr;
  if (text == kNcclDomain) nccl_domain_.store(static_cast<NvtxDomainId>(name->id), std::memory_order_relaxed);
  domains_[count].store(name, std::memory_order_relaxed);
  domain_count_.store(count + 1, std::memory_order_release);
  return reinterpret_cast<nvtxDomainRegistration_st*>(name);
}

NvtxDomainId domain_id(nvtxDomainRegistration_st* handle) noexcept {
  return handle == nullptr ? NvtxDomainId{}
                           : static_cast<NvtxDomainId>(reinterpret_cast<const NvtxNames::Name*>(handle)->id);
}

nvtxStringRegistration_st* NvtxNames::register_text(std::string_view text) noexcept {
  Locked locked(lock_);
  return reinterpret_cast<nvtxStringRegistration_st*>(new_name(text, 0));
}

std::string_view registered_text(nvtxStringRegistration_st* handle) noexcept {
  return handle == nullptr ? std::string_view{} : reinterpret_cast<const NvtxNames::Name*>(handle)->view();
}

std::size_t to_utf8(const wchar_t* text, char* out, std::size_t room) noexcept {
  std::size_t used = 0;
  for (; *text != L'\0'; ++text) {
    const auto code = static_cast<char32_t>(*text);
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

void NvtxNames::drain(TraceStream& out) noexcept {
  const std::size_t count = domain_count_.load(std::memory_order_acquire);
  for (; written_domains_ < count; ++written_domains_) {
    const Name* name = domains_[written_domains_].load(std::memory_order_relaxed);
    out.add(format::NvtxDomain{static_cast<NvtxDomainId>(name->id), name->view()});
  }
}

}  // namespace synctrace::capture
