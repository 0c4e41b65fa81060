// SPDX-License-Identifier: Apache-2.0
// The caller's stack, Python and native merged, -> a StackId. A stack is written once a thread, at its first sight,
// with the functions on it; after that it costs a walk of Python's frames, a comparison with a native walk made before
// and a look-up. All tables are the thread's own, mapped when it is prepared: no lock, no allocation, no system call on
// the way. Stacks beyond the tables get no id and are counted.
//
// A thread's captures do not nest: what a signal handler or an interposed call asks for meanwhile gets no id.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "capture/events/thread_buffer.h"
#include "capture/stacks/stack_budget.h"
#include "capture/unwind/thread_stack.h"
#include "contract/option_values.h"

namespace synctrace::capture {

using format::StackKinds;

// What the captures of all threads share.
struct SharedStacks {
  std::atomic<bool> can_read_guarded{false};
  StackBounds own_code;  // the module that holds this code; constant once enabled
  std::atomic<std::uint32_t> stack_count{0};
  std::atomic<std::uint32_t> code_count{0};
  // Changes with each trace of the process: what a thread wrote into another one is unknown in this.
  std::atomic<std::uint32_t> trace{0};
  std::atomic<std::uint64_t> refused{0};  // stacks that found no place in their thread's table
};

class SignalStack;

// The recorder's.
[[gnu::visibility("hidden")]] extern SharedStacks& shared_stacks;

// From here on stacks of these kinds are taken. Once, at the start, before module_watch: makes the map of modules.
void enable_stacks(StackKinds kinds) noexcept;

// From here on only these, of the kinds that are enabled: none in a forked child.
void switch_stacks(StackKinds kinds) noexcept;

// The calling thread's stack, beginning with the caller of the recorder's code; zero when none can be taken. On a
// program's thread, in a call of its own, not in a signal handler. A thread's first capture prepares it (some system
// calls, no allocation).
StackId capture_stack() noexcept;

// The same for the sake of its line: Python's frames alone where the thread has some, at a fraction of the cost.
StackId capture_line() noexcept;

// Python's frames alone; zero where the thread has none.
StackId capture_python() noexcept;

// The same as the first in any call of the program, which may be one of its signal handlers. Unless the native frames
// lead to the thread's first one without crossing a handler, Python's are read as in capture_interrupted_stack(): the
// interpreter may have been interrupted in the middle of a change. Frames of other kinds than `kinds` are left out.
StackId capture_waiting_stack(StackKinds kinds) noexcept;

// In a signal handler: the stack that was interrupted, from the handler's third argument. Async-signal-safe, at most
// 4 KiB of stack; zero also when the thread is not prepared or was interrupted in a capture or a push.
StackId capture_interrupted_stack(const void* context) noexcept;

// Another thread, which sleeps in the kernel or runs. While is_asleep(context) answers true it has not run since the
// caller looked.
struct OtherThread {
  pthread_t thread{};
  std::uintptr_t& python_state;                         // remembered from one look to the next; 0 at first
  bool (*is_asleep)(void* context) noexcept = nullptr;  // null: it runs
  void* context = nullptr;
};

struct OtherStack {
  enum class Status : std::uint8_t {
    kTaken,
    kNone,    // it has no Python stack
    kMoved,   // a sleeper woke up meanwhile; one that runs left all its functions
    kUnread,  // it has one that could not be read
  };
  Status status = Status::kNone;
  StackId id{};
  bool is_collecting = false;  // Python's garbage collector ran meanwhile, on one of its threads
};

// Whether the stacks of other threads can be read at all. After enable_stacks().
bool can_read_other_threads() noexcept;

// On a thread of the recorder's own: the Python stack of another thread, read from outside. It is not disturbed: no
// signal. One that runs is read twice, and what has changed in between, the innermost functions, is left out.
OtherStack capture_other_stack(const OtherThread& thread) noexcept;

// The thread can take stacks without a system call. Async-signal-safe.
bool stacks_prepared_here() noexcept;

// The calling thread's budget for stacks in front of calls; null when it can take none. Prepares the thread.
StackBudget* stack_budget_here() noexcept;

// The calling thread's stack for the sampler's signal; null before its first capture. Async-signal-safe.
SignalStack* signal_stack_here() noexcept;

// Gives the calling thread's tables back: when it ends.
void release_thread_stacks() noexcept;

// Module watch: looks for an interpreter while none has been found. Tells, once, why Python stacks cannot be read.
void look_for_python() noexcept;

// The most frames of one stack, marks for missing frames included.
inline constexpr std::size_t kMaxStackFrames = 388;

// How a stack travels through the ring: the event, then `count` FrameEvents.
struct StackEvent {
  static constexpr format::RecordKind kKind = format::RecordKind::kStack;
  StackId id{};
  std::uint32_t count = 0;
};
struct FrameEvent {
  enum class Kind : std::uint32_t { kPython, kPythonEntry, kNative, kNativeExact, kMissing, kUnordered };
  Kind kind;
  std::uint32_t of;  // code or module id; module 0: no known one
  std::int64_t at;   // offset in bytes of the bytecode; ELF virtual address
};

// A function travels as the event and its texts, one behind the other: file, function, line table.
struct CodeEvent {
  static constexpr format::RecordKind kKind = format::RecordKind::kCode;
  std::uint32_t id = 0;
  std::uint32_t python_version = 0;
  std::int32_t first_line = 0;
  std::uint32_t file_bytes = 0;
  std::uint32_t function_bytes = 0;
  std::uint32_t reserved = 0;
};

}  // namespace synctrace::capture
