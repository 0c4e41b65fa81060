// SPDX-License-Identifier: Apache-2.0
// One stack on its way to an id: taken into the tables of the thread that takes it, merged, and written at its first
// sight. Used by stack_table.cpp alone.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/process/guarded_memory.h"
#include "capture/process/id_table.h"
#include "capture/python/python_code.h"
#include "capture/python/python_frames.h"
#include "capture/stacks/signal_stack.h"
#include "capture/stacks/stack_merge.h"
#include "capture/stacks/stack_table.h"
#include "capture/unwind/native_unwind.h"

namespace synctrace::capture {

// Looked at in every call that may want a stack.
inline constinit std::atomic<StackKinds> wanted_stacks{StackKinds::kNone};

inline bool wants(StackKinds kind) noexcept {
  return format::includes(wanted_stacks.load(std::memory_order_relaxed), kind);
}

// A Python frame of 3.8 to 3.10 has two or three native ones around it; later ones share theirs.
inline constexpr std::size_t kMaxNativeFrames = 256;
static_assert(PythonStack::kMaxFrames + kMaxNativeFrames + kExtraItems == kMaxStackFrames);

// One thread's; zero is its valid empty state, so a fresh mapping needs no set-up. Pages are touched as they are used.
struct ThreadStacks {
  ThreadUnwinder unwinder;
  SignalStack signal_stack;
  PythonStack python;
  PythonStack python_again;  // the second reading of a thread that runs meanwhile
  std::array<NativeFrame, kMaxNativeFrames> native;
  std::array<const Module*, kMaxNativeFrames> modules;  // where the native frames are; null: in none, or not in our map
  StackBudget budget;
  GuardedMemory guarded;
  std::array<StackItem, kMaxStackFrames> items;
  std::array<FrameEvent, kMaxStackFrames> frames;
  IdTable<16384> stacks;
  IdTable<8192> codes;
  std::uint32_t stacks_of_old_maps;
  std::uint32_t trace;  // that knows what is in the tables
  std::array<std::byte, CodeDescription::kMaxBytes> room;

  void forget_other_traces() noexcept {
    const std::uint32_t now = shared_stacks.trace.load(std::memory_order_relaxed);
    if (trace == now) [[likely]]
      return;
    trace = now;
    stacks.clear();
    codes.clear();
    stacks_of_old_maps = 0;
  }
};

// What one capture found, in the thread's tables.
class Capture {
 public:
  enum class Of : std::uint8_t { kCall, kInterrupted, kOther };

  Capture(ThreadStacks& own, ThreadBuffer& buffer, Of of, const OtherThread* other = nullptr) noexcept
      : own_(own), buffer_(buffer), of_(of), other_(other) {
    own_.python.count = 0;
    own_.python.is_truncated = false;
    own_.forget_other_traces();
  }

  bool has_python() const noexcept { return own_.python.count != 0; }

  void take_python() noexcept {
    if (!wants(StackKinds::kPython)) return;
    if (of_ == Of::kCall) {
      python_reader.walk(own_.python);
    } else if (shared_stacks.can_read_guarded.load(std::memory_order_relaxed)) {
      python_reader.walk_interrupted(own_.guarded, own_.python);
    }
    keep_python_with_runtime();
  }

  // The sleeper's, or of a thread that runs the outer frames that two walks in a row have found.
  SleeperWalk take_python_of_other() noexcept;

  // Frames are still those of the other thread: it has not run, or has not left them.
  bool is_unchanged() noexcept;

  // The frames of the recorder itself are nobody's business.
  void take_native(const Walk& walk) noexcept {
    std::size_t first = 0;
    while (first < walk.count && shared_stacks.own_code.holds(own_.native[first].pc)) ++first;
    native_ = std::span(own_.native).subspan(first, walk.count - first);
    native_sp_ = first == 0 ? walk.sp : own_.native[first - 1].cfa;
    native_is_whole_ = walk.end == WalkEnd::kRoot;
    native_hash_ = hash_of_native();
  }

  // The same from `start`, until whose function returns. A known walk is not made until its stack is to be written.
  void take_native_from(const WalkStart& start) noexcept {
    start_ = start;
    native_hash_ = known_walk(start);
    if (native_hash_ != 0) return;
    take_native(walk_from(start, own_.native));
    name_walk(native_hash_);
  }

  StackId id() noexcept;

 private:
  // The reader may have been switched off meanwhile; then nothing describes the frames.
  void keep_python_with_runtime() noexcept {
    runtime_ = own_.python.count == 0 ? nullptr : python_reader.runtime();
    if (runtime_ == nullptr) own_.python.count = 0;
  }

  SleeperWalk walk_other(PythonStack& out) noexcept;
  std::uint64_t hash_of_native() const noexcept;
  std::uint64_t hash() const noexcept;
  std::uint32_t code_id(const PythonFrame& frame) noexcept;
  FrameEvent describe(const StackItem& item) noexcept;
  FrameEvent describe_native(std::size_t index) const noexcept;
  void find_modules() noexcept;
  StackId write() noexcept;

  ThreadStacks& own_;
  ThreadBuffer& buffer_;
  const Of of_;
  const OtherThread* other_;
  bool has_moved_ = false;  // the sleeper
  const PythonRuntime* runtime_ = nullptr;
  std::span<const NativeFrame> native_;
  std::uintptr_t native_sp_ = 0;
  std::uint64_t native_hash_ = 0;  // hash of native_, or of what the known walk would give; 0: no frames
  WalkStart start_;
  bool native_is_whole_ = true;
  bool map_is_old_ = false;  // the loader knows better than our map of modules
};

}  // namespace synctrace::capture
