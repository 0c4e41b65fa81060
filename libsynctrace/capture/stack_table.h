// SPDX-License-Identifier: Apache-2.0
// The caller's stack -> a StackId. A stack is written once a thread, at its first sight, with the functions on it; after
// that it costs a walk and a look-up, 0.1 to 0.3 us. All tables are the thread's own, mapped at its first stack: no lock,
// no allocation, no system call on the way. Stacks beyond the tables get no id and are counted.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "capture/thread_buffer.h"

namespace synctrace::capture {

// From here on capture_stack() takes stacks. Once, at the start.
void enable_stacks() noexcept;

// The calling thread's Python stack; zero when it has none, or none can be taken. On a program's thread, inside one of
// its CUDA calls.
StackId capture_stack() noexcept;

// Gives the calling thread's tables back: when it ends.
void release_thread_stacks() noexcept;

// Drain thread: looks for an interpreter while none has been found. Tells, once, why Python stacks cannot be read.
void look_for_python() noexcept;

// Drain thread: stacks that found no place in their thread's table, since the last call.
std::uint64_t take_refused_stacks() noexcept;

// How a stack travels through the ring: the event, then `count` FrameEvents.
struct StackEvent {
  static constexpr format::RecordKind kKind = format::RecordKind::kStack;
  StackId id{};
  std::uint32_t count = 0;
};
struct FrameEvent {
  std::uint32_t code = 0;
  std::int32_t offset_and_entry = 0;  // offset in bytes * 2, plus 1 for an entry
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
