// SPDX-License-Identifier: Apache-2.0
// Reads the calling thread's Python stack out of CPython's own frames: 3.8 to 3.14, builds with a GIL. Plain loads:
// no GIL, no allocation, no lock, no Python API on the way but the thread-specific look-up of the thread state and the
// question whether the interpreter ends. That is sound because the caller is inside a C call of the very thread whose
// frames it reads: nobody else changes them, and each frame keeps its code object alive. Signal handlers use
// walk_interrupted(); other threads' frames are out of reach. The first real walk checks what it reads; a doubt
// switches the reader off for good.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/process/guarded_memory.h"
#include "capture/python/python_runtime.h"
#include "capture/unwind/module_map.h"
#include "capture/unwind/module_symbols.h"

namespace synctrace::capture {

// One call, as numbers; python_code turns the code object into names while it is alive.
struct PythonFrame {
  std::uintptr_t code;           // address of the code object
  std::uint64_t identity;        // with `code` the key of what was described (code_identity)
  std::uintptr_t entry_address;  // only for an entry: lies in the C frame of its eval loop (3.11+); 0: not known
  std::int32_t offset_bytes;     // where the instruction is in the bytecode; negative before the first one
  bool is_entry;                 // the outermost kept frame that its eval loop runs: below it there is a C frame
};

struct PythonStack {
  static constexpr std::size_t kMaxFrames = 128;

  PythonFrame frames[kMaxFrames];  // innermost first; `count` of them are written
  std::uint32_t count;
  bool is_truncated;  // outer frames were left out: too many, or memory that is no frame
  bool is_uncertain;  // sub-interpreters up to 3.11: may be the stack of the thread's main interpreter
};

enum class SleeperWalk : std::uint8_t {
  kRead,
  kNone,    // the thread has no Python stack, or the reader is not on
  kFailed,  // there is one, but what was read cannot be
};

class PythonReader {
 public:
  enum class State : std::uint8_t {
    kAbsent,     // no Python seen yet
    kUnchecked,  // found; no real stack seen yet
    kOn,
    kOff,  // for good; off_reason() says why
  };

  // Looks for an interpreter among the modules that it has not seen yet. Call it when modules were loaded until the
  // answer is not kAbsent, and now and then later, to notice sub-interpreters. One thread at a time, never on the event
  // path.
  State start(const ModuleMap& modules) noexcept;

  // The calling thread's Python stack; false when it has none or the reader is not on. Any thread.
  bool walk(PythonStack& out) noexcept;

  // The same in a signal handler, at most 4 KiB of stack: the interpreter may be in the middle of a change, so memory
  // is read through the kernel, each code object's type is checked, and a chain that does not lead to the thread's
  // first frame counts for nothing. Some 0.5 us a frame. Not before a walk() was right.
  bool walk_interrupted(GuardedMemory& memory, PythonStack& out) noexcept;

  // Whether the calling thread has a thread state of a Python that can be read. Any thread, also in a signal handler.
  bool runs_on_this_thread() const noexcept {
    const PythonRuntime* python = runtime();
    if (python == nullptr || (python->is_finalizing != nullptr && python->is_finalizing() != 0)) return false;
    return python->this_thread_state() != nullptr;
  }

  // Another thread's, which must not run from before the call until after it: for the caller to make sure. The thread's
  // state is remembered in `thread_state` from one walk to the next; 0 at first. Any one thread for each memory.
  SleeperWalk walk_sleeping(pthread_t thread, std::uintptr_t& thread_state, GuardedMemory& memory,
                            PythonStack& out) noexcept;

  // Whether the main interpreter collects garbage at this moment; false where that is not known. Any one thread for
  // each memory.
  bool is_collecting(GuardedMemory& memory) const noexcept;

  State state() const noexcept { return state_.load(std::memory_order_acquire); }

  // Null unless off: a literal without "synctrace:" and without a full stop. Any thread.
  const char* off_reason() const noexcept { return off_reason_.load(std::memory_order_acquire); }

  // Null until Python was found and while the reader is off. Any thread.
  const PythonRuntime* runtime() const noexcept {
    const State now = state();
    return now == State::kOn || now == State::kUnchecked ? &runtime_ : nullptr;
  }

 private:
  bool find_interpreter(const ModuleMap& modules, ModuleSymbols& symbols) noexcept;
  const char* find_runtime(const ModuleSymbols& symbols) noexcept;
  bool is_ending() const noexcept { return runtime_.is_finalizing != nullptr && runtime_.is_finalizing() != 0; }
  std::uintptr_t thread_state_here() const noexcept;
  std::uintptr_t find_thread_state(pthread_t thread, GuardedMemory& memory) const noexcept;
  bool walk_guarded(std::uintptr_t thread_state, GuardedMemory& memory, PythonStack& out) noexcept;
  bool check_first_stack(std::uintptr_t thread_state) noexcept;
  void switch_off(const char* reason) noexcept;

  // Written by start() before state_ leaves kAbsent (release), read-only from then on.
  PythonRuntime runtime_;
  std::atomic<State> state_{State::kAbsent};
  std::atomic<const char*> off_reason_{nullptr};
  std::atomic<bool> has_subinterpreters_{false};
};

// The recorder's.
[[gnu::visibility("hidden")]] extern PythonReader& python_reader;

}  // namespace synctrace::capture
