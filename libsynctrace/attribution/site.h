// SPDX-License-Identifier: Apache-2.0
// A call site: the calls that a user would fix in one place. Calls of one function from one stack with the same kind
// of copy and the same memory; without stacks, all such calls of the process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/trace.h"

namespace synctrace {

struct SiteKey {
  ApiId api{};
  StackId stack{};
  CopyKind copy_kind = CopyKind::kUnknown;
  MemoryKind source_memory = MemoryKind::kUnknown;
  MemoryKind target_memory = MemoryKind::kUnknown;
  bool creates_context = false;
  friend bool operator==(const SiteKey&, const SiteKey&) = default;
};

struct SiteKeyHash {
  std::size_t operator()(const SiteKey& key) const noexcept {
    std::uint64_t mix = (static_cast<std::uint64_t>(number(key.api)) << 32) ^ number(key.stack);
    mix = mix * 31 + number(key.copy_kind);
    mix = mix * 31 + number(key.source_memory);
    mix = mix * 31 + number(key.target_memory);
    mix = mix * 31 + (key.creates_context ? 1 : 0);
    return static_cast<std::size_t>((mix * 0x9e3779b97f4a7c15U) >> 7);
  }
};

inline SiteKey site_of(const Call& call, bool creates_context) noexcept {
  return {call.api, call.stack, call.copy_kind, call.source_memory, call.target_memory, creates_context};
}

}  // namespace synctrace
