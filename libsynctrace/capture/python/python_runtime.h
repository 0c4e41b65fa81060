// SPDX-License-Identifier: Apache-2.0
// The interpreter of this process as the frame reader sees it: its layout, its types, and loads from its memory. Plain
// loads are safe only where the calling thread keeps the object alive: frames of its own stack, and what they own; and
// only inside of calls, not where a signal interrupted the interpreter. For python_frames and python_code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "capture/python/python_layouts.h"

namespace synctrace::capture {

struct PythonRuntime {
  PythonLayout layout{};
  std::uint32_t version = 0;  // PY_VERSION_HEX
  void* (*this_thread_state)() = nullptr;
  int (*is_finalizing)() = nullptr;         // one load in every version; may be missing
  void* (*newest_interpreter)() = nullptr;  // up to 3.11, for sub-interpreters; may be missing
  void* (*main_interpreter)() = nullptr;
  void* (*newest_thread)(void* interpreter) = nullptr;  // head of its list of thread states; may be missing
  std::uintptr_t code_type = 0;
  std::uintptr_t str_type = 0;
  std::uintptr_t bytes_type = 0;
  // The code of the eval loop, up to 3.10, where nothing else leads from a Python frame to its native one.
  std::uintptr_t eval_begin = 0;
  std::uintptr_t eval_end = 0;
};

// Memory that is there for sure. The walks are written for this and for GuardedMemory, which has the same functions.
struct PlainMemory {
  void expect(std::uintptr_t, std::size_t) const noexcept {}
  void expect_frame(std::uintptr_t, std::size_t) const noexcept {}

  template <class T>
  T load(std::uintptr_t address) const noexcept {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof(T));
    return value;
  }

  bool copy(std::uintptr_t from, void* to, std::size_t bytes) const noexcept {
    if (bytes != 0) std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return true;
  }

  bool failed() const noexcept { return false; }

  // Objects on the way are alive, so nobody needs to ask.
  static constexpr bool kIsTrusted = true;
};

template <class Memory>
std::uintptr_t load_pointer(Memory& memory, std::uintptr_t address) noexcept {
  return memory.template load<std::uintptr_t>(address);
}

// No object of Python lies in the first 64 KiB or off an 8-byte boundary, and user addresses have 57 bits at most.
inline bool is_plausible(std::uintptr_t address) noexcept {
  return address >= 0x10000 && (address & 7) == 0 && (address >> 57) == 0;
}

template <class Memory>
bool has_type(Memory& memory, std::uintptr_t object, std::uintptr_t type) noexcept {
  return is_plausible(object) && load_pointer(memory, object + python_object::kType) == type;
}

// A freed object has lost its count of references: there is zero, or part of an address.
template <class Memory>
bool is_alive(Memory& memory, std::uintptr_t object) noexcept {
  if constexpr (Memory::kIsTrusted) return true;
  const auto count = memory.template load<std::uint64_t>(object);
  return (count & 0xffff'ffff) != 0 && (count >> 32 & 0xffff) == 0;
}

// What tells a code object from a later one at the same address (they are reused at once): the version number that
// 3.12+ gives each, else a hash of what cannot all be the same by accident. Hashes have the top bit set.
template <class Memory>
std::uint64_t code_identity(Memory& memory, const PythonLayout& layout, std::uintptr_t code) noexcept {
  if (layout.code_version != 0) {
    const auto version = memory.template load<std::uint32_t>(code + layout.code_version);
    if (version != 0) return version;  // 0: the interpreter ran out of numbers
  }
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  std::uint64_t hash = memory.template load<std::uint32_t>(code + layout.code_first_line);
  for (const std::uint16_t field : {layout.code_file, layout.code_name, layout.code_line_table}) {
    hash = (hash ^ load_pointer(memory, code + field)) * kOdd;
    hash ^= hash >> 29;
  }
  return hash | (std::uint64_t{1} << 63);
}

// Bytes of bytecode of a code object.
template <class Memory>
std::int64_t bytecode_size(Memory& memory, const PythonLayout& layout, std::uintptr_t code) noexcept {
  if (layout.position_scale == 0) return 2 * memory.template load<std::int64_t>(code + python_object::kSize);
  return memory.template load<std::int64_t>(load_pointer(memory, code + layout.code_bytecode) + python_object::kSize);
}

}  // namespace synctrace::capture
