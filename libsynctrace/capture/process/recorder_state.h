// SPDX-License-Identifier: Apache-2.0
// What the recorder does at this moment, in one atomic byte that every callback looks at first. Set by the recorder and
// by cupti_switch; kOff is final once the process has forked, is ending, or recording was given up.
#pragma once

#include <atomic>
#include <cstdint>

namespace synctrace::capture {

enum class RecorderState : std::uint8_t {
  kOff,       // record nothing, touch nothing
  kQuiet,     // what is rare and has consequences: allocations, graphs, ends of streams; NVTX
  kSyncs,     // and waits and copies
  kTimeline,  // and launches and the GPU's own records
};

inline constinit std::atomic<RecorderState> recorder_state{RecorderState::kOff};

inline bool recording() noexcept { return recorder_state.load(std::memory_order_relaxed) != RecorderState::kOff; }
inline bool recording_waits() noexcept {
  return recorder_state.load(std::memory_order_relaxed) >= RecorderState::kSyncs;
}
inline bool recording_timeline() noexcept {
  return recorder_state.load(std::memory_order_relaxed) == RecorderState::kTimeline;
}

}  // namespace synctrace::capture
