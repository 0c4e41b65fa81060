// SPDX-License-Identifier: Apache-2.0
// The calling thread's native stack, by the tables of unwind_table.h: some 6 ns a frame. On the path there is no
// allocation, no lock, no system call and no call of the loader; memory is read only between the thread's own stack
// pointer and the top of its stack. Where the tables end, the walk ends, and says why.
//
// A thread is prepared once, off the event path, with memory of the caller's; other threads get no stacks. Walks of one
// thread do not nest: a signal handler that interrupts one gets kBusy.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/unwind/cfi_rows.h"
#include "capture/unwind/known_walks.h"
#include "capture/unwind/module_map.h"
#include "capture/unwind/thread_stack.h"

namespace synctrace::capture {

struct NativeFrame {
  std::uintptr_t pc = 0;   // a return address, so one beyond its call, unless is_exact
  std::uintptr_t cfa = 0;  // the frame's upper end, which is the next one's stack pointer; 0: not known (the last one)
  bool is_exact = false;   // `pc` is the instruction itself: a signal interrupted it
};

enum class WalkEnd : std::uint8_t {
  kRoot,           // the thread's first frame
  kFull,           // no room for more
  kNoTable,        // a module whose table is not built yet, and libgcc could not be used
  kNoRule,         // code of a module that says nothing about this pc
  kUnsupported,    // a rule of a kind that the tables do not hold
  kGeneratedCode,  // code of no known module: just-in-time compiled, or loaded a moment ago
  kBadFrame,       // the frame does not lie above the one before it
  kForeignStack,   // the stack pointer is not on a stack of this thread: fibres
  kNotPrepared,
  kBusy,
};

// One thread's part: the bounds of its stacks and the rules of the pcs it met last. Zeroed memory is a valid state.
class ThreadUnwinder {
 public:
  // Learns the calling thread's stacks and makes this its unwinder. Does not
  // allocate. `this` must live until forget_here().
  void prepare_here() noexcept;

  // The calling thread runs its signal handlers there from now on; walks may cross it.
  void set_signal_stack(const stack_t& stack) noexcept;

  // The calling thread has no unwinder any more: before its memory goes.
  static void forget_here() noexcept;

 private:
  friend class StackWalk;
  friend class HeldUnwinder;

  // A training step of PyTorch has thousands of call sites on its way; a miss costs a binary search in a table of
  // megabytes, 0.1 us where it is in the caches and several times that where it is not.
  static constexpr std::size_t kCacheBits = 13;
  static constexpr std::size_t kCachedRules = std::size_t{1} << kCacheBits;

  // Rules lie in tables that are never freed, few and hot. No entry lies in two cache lines.
  struct alignas(2 * sizeof(std::uintptr_t)) CachedRule {
    std::uintptr_t pc = 0;
    const UnwindRule* rule = nullptr;
  };

  OwnStack stack_;
  StackBounds signal_stack_;
  std::uint64_t generation_ = 0;  // which code map the cached rules come from
  std::atomic<bool> busy_{false};
  KnownWalks::Of last_;  // the last walk from a WalkStart, and what it read
  WalkReads reads_{};
  KnownWalks known_{};
  CachedRule cache_[kCachedRules];
};

struct Walk {
  std::size_t count = 0;  // frames written
  std::uintptr_t sp = 0;  // the lower end of the first frame
  WalkEnd end = WalkEnd::kNotPrepared;
  bool used_libgcc = false;  // frames come from libgcc: some 20 times slower
  bool guessed = false;      // a frame was left by its frame pointer, without a rule
};

// The stack of the calling thread, innermost first, beginning with the caller of this function.
Walk walk_here(std::span<NativeFrame> out) noexcept;

// The same in parts, for walks that are made again and again; until the function that asked where to start returns.
WalkStart walk_start() noexcept;

// The name that name_walk() gave to this very walk; 0: none, or it may lead elsewhere by now.
std::uint64_t known_walk(const WalkStart& start) noexcept;
Walk walk_from(const WalkStart& start, std::span<NativeFrame> out) noexcept;

// Names the thread's last walk_from(), if it led to the root by what the stack and the tables say.
void name_walk(std::uint64_t name) noexcept;

// The stack that a signal interrupted, from the handler's third argument (a ucontext_t).
Walk walk_interrupted(const void* context, std::span<NativeFrame> out) noexcept;

// Before the first event, on any thread: libgcc's unwinder does its first-time work (loads, allocates). From then on it
// walks where a module has no table yet, but only if it finds modules without the loader's lock: glibc 2.35, libgcc 12.
void prepare_fallback() noexcept;

}  // namespace synctrace::capture
