// SPDX-License-Identifier: Apache-2.0
#include "findings/report/trace_words.h"

#include <charconv>

#include <array>
#include <cstddef>

namespace synctrace {

std::string_view direction_word(CopyKind kind) noexcept {
  switch (kind) {
    case CopyKind::kHostToDevice:
    case CopyKind::kHostToArray: return "H2D";
    case CopyKind::kDeviceToHost:
    case CopyKind::kArrayToHost: return "D2H";
    case CopyKind::kDeviceToDevice:
    case CopyKind::kArrayToArray:
    case CopyKind::kArrayToDevice:
    case CopyKind::kDeviceToArray: return "D2D";
    case CopyKind::kHostToHost: return "H2H";
    case CopyKind::kPeerToPeer: return "P2P";
    default: return "";
  }
}

std::string_view memory_word(MemoryKind kind) noexcept {
  switch (kind) {
    case MemoryKind::kPageable: return "pageable";
    case MemoryKind::kPinned: return "pinned";
    case MemoryKind::kManaged:
    case MemoryKind::kManagedStatic: return "managed";
    case MemoryKind::kDevice:
    case MemoryKind::kDeviceStatic: return "device";
    case MemoryKind::kArray: return "array";
    default: return "";
  }
}

std::string_view host_call_word(HostCall call) noexcept {
  constexpr std::array<std::string_view, 12> kWords = {"unknown",   "condition variable",
                                                       "semaphore", "futex",
                                                       "poll",      "epoll",
                                                       "read",      "munmap",
                                                       "join",      "sleep",
                                                       "mutex",     "select"};
  const auto index = static_cast<std::size_t>(call);
  return index < kWords.size() ? kWords[index] : kWords[0];
}

std::string_view sample_state_word(format::Sample::State state) noexcept {
  switch (state) {
    case format::Sample::State::kRunning: return "running";
    case format::Sample::State::kRunnable: return "runnable";
    case format::Sample::State::kBlocked: return "blocked";
    case format::Sample::State::kCollecting: return "collecting garbage";
    case format::Sample::State::kUnknown: break;
  }
  return "unknown";
}

std::size_t number_fact(const Trace& trace, std::string_view key) noexcept {
  const std::string_view text = fact(trace, key);
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace synctrace
