// SPDX-License-Identifier: Apache-2.0
// Reads memory that may not be there: through the kernel, a microsecond or more a call, with no signal handler (those
// belong to the program). For what a signal interrupted half-way. Async-signal-safe; one thread's own.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace synctrace::capture {

class GuardedMemory {
 public:
  // False where the kernel or a container forbids such reads, or they are not to be tried. Asked once, at the start.
  static bool works() noexcept;

  // Forgets what was read; before anything else.
  void reset() noexcept;

  // Soon all of [address, address + bytes) will be loaded; at most kWindowBytes.
  void expect(std::uintptr_t address, std::size_t bytes) noexcept {
    if (find(address, bytes) == nullptr) fill(address);
  }

  // The same for the next frame of a chain: from 3.11 on a caller's frame lies right before its callee's, so one read
  // gets many of them.
  void expect_frame(std::uintptr_t address, std::size_t bytes) noexcept {
    if (find(address, bytes) == nullptr) fill_backwards(address, bytes);
  }

  // Soon `bytes` at each of these will be loaded, at most kWindowBytes: one call of the kernel for the first kObjects.
  static constexpr std::size_t kObjects = 32;
  void expect_all(std::span<const std::uintptr_t> addresses, std::size_t bytes) noexcept;

  // Zero where nothing can be read; then failed() from there on.
  template <class T>
  T load(std::uintptr_t address) noexcept {
    T value{};
    const std::byte* at = find(address, sizeof(T));
    if (at == nullptr) {
      fill(address);
      at = find(address, sizeof(T));
    }
    if (at == nullptr) {
      failed_ = true;
    } else {
      std::memcpy(&value, at, sizeof(T));
    }
    return value;
  }

  bool copy(std::uintptr_t from, void* to, std::size_t bytes) noexcept;

  bool failed() const noexcept { return failed_; }

  static constexpr bool kIsTrusted = false;

 private:
  // A frame of Python or the part of a code object that a walk reads lies in one window.
  static constexpr std::size_t kWindowBytes = 256;
  static constexpr std::size_t kFramesBytes = 4096;
  template <std::size_t kBytes>
  struct WindowOf {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    std::array<std::byte, kBytes> data{};
  };
  using Window = WindowOf<kWindowBytes>;

  const std::byte* find(std::uintptr_t address, std::size_t bytes) const noexcept {
    for (const Window& window : windows_) {
      if (address >= window.begin && address - window.begin + bytes <= window.bytes)
        return window.data.data() + (address - window.begin);
    }
    if (address >= behind_.begin && address - behind_.begin + bytes <= behind_.bytes)
      return behind_.data.data() + (address - behind_.begin);
    for (std::size_t i = 0; i < object_count_; ++i) {
      if (address >= objects_[i].begin && address - objects_[i].begin + bytes <= objects_[i].bytes)
        return objects_[i].data.data() + (address - objects_[i].begin);
    }
    return nullptr;
  }
  void fill(std::uintptr_t address) noexcept;
  void fill_backwards(std::uintptr_t address, std::size_t bytes) noexcept;

  long process_ = 0;
  std::array<Window, 4> windows_;
  WindowOf<kFramesBytes> behind_;
  std::array<Window, kObjects> objects_;
  std::size_t object_count_ = 0;
  std::array<iovec, kObjects> local_;  // not on the stack, which may be a small one for signals
  std::array<iovec, kObjects> remote_;
  std::uint32_t next_ = 0;
  bool failed_ = false;
};

}  // namespace synctrace::capture
