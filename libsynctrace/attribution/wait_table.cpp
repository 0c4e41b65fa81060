// SPDX-License-Identifier: Apache-2.0
#include "attribution/wait_table.h"

namespace synctrace {
namespace {

// Pageable sources up to this size are copied into the driver's own buffer, and the call returns at once.
constexpr std::uint64_t kStagedBytes = 64U << 10;

// From CUDA's documentation of API synchronisation behaviour, and as measured.
WaitHabit async_copy_habit(const Call& call) noexcept {
  const MemoryKind host = host_memory(call.copy_kind, call.source_memory, call.target_memory);
  if (call.copy_kind == CopyKind::kDeviceToDevice || host == MemoryKind::kPinned) return WaitHabit::kNever;
  const bool staged = call.copy_kind == CopyKind::kHostToDevice && call.bytes <= kStagedBytes;
  return staged ? WaitHabit::kNever : WaitHabit::kMayWait;
}

}  // namespace

bool is_copy(ApiCategory category) noexcept {
  return category == ApiCategory::kCopy || category == ApiCategory::kCopyAsync;
}

bool goes_to_host(CopyKind kind) noexcept { return kind == CopyKind::kDeviceToHost || kind == CopyKind::kArrayToHost; }

bool comes_from_host(CopyKind kind) noexcept {
  return kind == CopyKind::kHostToDevice || kind == CopyKind::kHostToArray;
}

MemoryKind host_memory(CopyKind kind, MemoryKind source, MemoryKind target) noexcept {
  if (comes_from_host(kind)) return source;
  return goes_to_host(kind) ? target : MemoryKind::kUnknown;
}

WaitHabit wait_habit(const Call& call) noexcept {
  switch (call.category) {
    case ApiCategory::kStreamSync:
    case ApiCategory::kDeviceSync:
    case ApiCategory::kEventSync: return WaitHabit::kExplicit;
    case ApiCategory::kCopy:
      return call.copy_kind == CopyKind::kDeviceToDevice ? WaitHabit::kNever : WaitHabit::kMayWait;
    case ApiCategory::kCopyAsync: return async_copy_habit(call);
    case ApiCategory::kFree:
    case ApiCategory::kHostFree: return WaitHabit::kMayWait;
    case ApiCategory::kOther: return WaitHabit::kUnknown;
    default: return WaitHabit::kNever;
  }
}

bool fits_no_graph(const Call& call) noexcept {
  switch (call.category) {
    case ApiCategory::kStreamSync:
    case ApiCategory::kDeviceSync:
    case ApiCategory::kEventSync:
    case ApiCategory::kCopy: return true;
    case ApiCategory::kCopyAsync: return call.copy_kind == CopyKind::kDeviceToHost;
    default: return false;
  }
}

}  // namespace synctrace
