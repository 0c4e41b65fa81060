// SPDX-License-Identifier: Apache-2.0
// The key of a call site: its calls have the function, the stack, and for copies the kind and the memory in common.
// Without stacks, all such calls of the process are one site. Host time that is no call has a key too: a sleep, a
// sample, or the stretch between two stacks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attribution/cause.h"
#include "model/trace.h"

namespace synctrace {

struct CallSiteKey {
  OwnerTable table = OwnerTable::kNone;
  CopyKind copy_kind = CopyKind::kUnknown;
  MemoryKind source_memory = MemoryKind::kUnknown;
  MemoryKind target_memory = MemoryKind::kUnknown;
  HostCall host_call = HostCall::kUnknown;
  bool creates_context = false;
  ApiId api{};
  StackId stack{};
  StackId until{};  // only for kStretch: `stack` comes before it, this one after
  friend bool operator==(const CallSiteKey&, const CallSiteKey&) = default;
};

inline CallSiteKey key_of(const Call& call, bool creates_context = false) noexcept {
  CallSiteKey key;
  key.table = OwnerTable::kCall;
  key.copy_kind = call.copy_kind;
  key.source_memory = call.source_memory;
  key.target_memory = call.target_memory;
  key.creates_context = creates_context;
  key.api = call.api;
  key.stack = call.stack;
  return key;
}

inline void mix(std::uint64_t& hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  hash ^= hash >> 29;
}

inline void mix(std::uint64_t& hash, const CallSiteKey& key) noexcept {
  mix(hash, static_cast<std::uint64_t>(number(key.table)) << 32 |
                static_cast<std::uint64_t>(number(key.copy_kind)) << 24 |
                static_cast<std::uint64_t>(number(key.source_memory)) << 16 |
                static_cast<std::uint64_t>(number(key.target_memory)) << 8 | number(key.host_call));
  mix(hash, static_cast<std::uint64_t>(number(key.api)) << 32 | number(key.stack));
  mix(hash, static_cast<std::uint64_t>(key.creates_context) << 32 | number(key.until));
}

struct CallSiteKeyHash {
  std::size_t operator()(const CallSiteKey& key) const noexcept {
    std::uint64_t hash = 0;
    mix(hash, key);
    return static_cast<std::size_t>(hash);
  }
};

}  // namespace synctrace
