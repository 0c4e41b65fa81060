// SPDX-License-Identifier: Apache-2.0
// The bytes that the readers of Python frames and code objects look at, from one of two sources, so that the rules of
// reading are written once. PlainMemory is the process's memory as it lies there: right for the calling thread's own
// stack inside a call. CheckedMemory is copies that the kernel makes and may refuse: for signal handlers and for the
// stacks of other threads, where what is read may be half written or gone; there, what claims to be a live object is
// also asked for its reference count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "capture/python_runtime.h"

namespace synctrace::capture {

// Bytes from the start of each object to the end of the last field that is read of it.
inline std::size_t frame_bytes(const PythonLayout& layout) noexcept {
  return layout.frame_kind == PythonFrameKind::kObjects ? layout.frame_position + 4U : layout.frame_owner + 1U;
}
inline std::size_t code_bytes(const PythonLayout& layout) noexcept {
  return layout.code_traceable != 0 ? layout.code_traceable + 4U : layout.code_line_table + 8U;
}
inline std::size_t thread_bytes(const PythonLayout& layout) noexcept { return layout.thread_id + 8U; }
inline constexpr std::size_t kTextHeaderBytes = 40;  // of a str up to its state; of bytes more than its length

class PlainMemory {
 public:
  static constexpr bool kIsTrusted = true;

  // An object at an address.
  class Block {
   public:
    Block() = default;
    explicit Block(std::uintptr_t address) noexcept : address_(address) {}
    template <class T>
    T get(std::size_t offset) const noexcept {
      return load<T>(address_ + offset);
    }
    std::uintptr_t pointer(std::size_t offset) const noexcept { return get<std::uintptr_t>(offset); }

   private:
    std::uintptr_t address_ = 0;
  };

  bool open_frame(std::uintptr_t address, std::size_t, Block& out) noexcept {
    out = Block(address);
    return true;
  }
  bool open(std::uintptr_t address, std::size_t, Block& out) noexcept {
    out = Block(address);
    return true;
  }
  bool is_alive(const Block&) const noexcept { return true; }
  bool copy(std::uintptr_t from, std::span<std::byte> to) noexcept {
    if (!to.empty()) std::memcpy(to.data(), reinterpret_cast<const void*>(from), to.size());
    return true;
  }
};

// One thread at a time. No allocation, no lock; each copy is one system call, some 0.4 us.
class CheckedMemory {
 public:
  static constexpr bool kIsTrusted = false;

  // Copied fields; valid until the next call of the function that filled it.
  class Block {
   public:
    Block() = default;
    explicit Block(const std::byte* bytes) noexcept : bytes_(bytes) {}
    template <class T>
    T get(std::size_t offset) const noexcept {
      T value;
      std::memcpy(&value, bytes_ + offset, sizeof(T));
      return value;
    }
    std::uintptr_t pointer(std::size_t offset) const noexcept { return get<std::uintptr_t>(offset); }

   private:
    const std::byte* bytes_ = nullptr;
  };

  // Forgets what earlier walks copied.
  void start_walk() noexcept { window_begin_ = window_end_ = 0; }

  // 3.11+ keeps the frames of a thread one behind the other, callers below: one copy holds many.
  bool open_frame(std::uintptr_t address, std::size_t bytes, Block& out) noexcept;
  bool open(std::uintptr_t address, std::size_t bytes, Block& out) noexcept;

  // An object that was freed has no count of references left: the first bytes are zero or hold an address.
  bool is_alive(const Block& object) const noexcept {
    const std::uint64_t count = object.get<std::uint64_t>(0);
    return (count & 0xffff'ffff) != 0 && (count >> 32 & 0xffff) == 0;
  }

  bool copy(std::uintptr_t from, std::span<std::byte> to) noexcept;

  // Whether the kernel gives such copies here (a container may forbid it). Once, before the first use.
  static bool prepare() noexcept;

 private:
  static constexpr std::size_t kWindowBytes = 2048;
  static constexpr std::size_t kBlockBytes = 256;

  std::uintptr_t window_begin_ = 0;
  std::uintptr_t window_end_ = 0;
  std::array<std::byte, kWindowBytes> window_;
  std::array<std::byte, kBlockBytes> block_;
};

}  // namespace synctrace::capture
