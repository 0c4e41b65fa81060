// SPDX-License-Identifier: Apache-2.0
#include "capture/thread_stack.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace synctrace::capture {
namespace {

// Reads "begin-end rest" lines from /proc/self/maps piece by piece, as the kernel gives them.
class Mappings {
 public:
  Mappings() noexcept : descriptor_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;
  ~Mappings() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  // The next one, in order of addresses; false at the end.
  bool next(StackBounds& mapping) noexcept {
    if (!number('-', mapping.begin) || !number(' ', mapping.end)) return false;
    for (char c = 0; c != '\n';) {
      if (!take(c)) return false;
    }
    return true;
  }

 private:
  bool number(char end, std::uintptr_t& value) noexcept {
    value = 0;
    for (char c = 0; take(c) && c != end;) {
      const bool is_digit = c >= '0' && c <= '9';
      if (!is_digit && (c < 'a' || c > 'f')) return false;
      value = value * 16 + static_cast<std::uintptr_t>(is_digit ? c - '0' : c - 'a' + 10);
    }
    return used_ != 0;
  }

  bool take(char& c) noexcept {
    if (used_ == size_) {
      const ssize_t got = descriptor_ < 0 ? 0 : read(descriptor_, text_.data(), text_.size());
      size_ = got > 0 ? static_cast<std::size_t>(got) : 0;
      used_ = 0;
      if (size_ == 0) return false;
    }
    c = text_[used_++];
    return true;
  }

  int descriptor_;
  std::array<char, 4096> text_;
  std::size_t used_ = 0;
  std::size_t size_ = 0;
};

bool is_main_thread() noexcept { return syscall(SYS_gettid) == getpid(); }

// An address that is on the thread's stack for sure: the C library keeps a thread's own data at the upper end of its
// stack, the kernel the random bytes that it gives a program.
std::uintptr_t anchor_of_this_thread(bool is_main) noexcept {
  return is_main ? static_cast<std::uintptr_t>(getauxval(AT_RANDOM)) : static_cast<std::uintptr_t>(pthread_self());
}

// The main thread's mapping grows downwards, as far as the one below it; the frames of the others end below their data.
StackBounds read_bounds(std::uintptr_t anchor, bool is_main) noexcept {
  Mappings mappings;
  std::uintptr_t end_below = 0;
  for (StackBounds mapping; mappings.next(mapping); end_below = mapping.end) {
    if (mapping.holds(anchor))
      return is_main ? StackBounds{end_below, mapping.end} : StackBounds{mapping.begin, anchor};
  }
  return {};
}

// What was read before, by anchor: the C library gives a new thread the stack of one that ended. An entry is one word:
// the anchor without its 6 low zeros, then the stack's size in 4 KiB pages.
constexpr int kPageBits = 23;
constexpr std::uint64_t kMaxPages = (1U << kPageBits) - 1;
constexpr std::uintptr_t kMaxAnchor = std::uintptr_t{1} << 47;
std::array<std::atomic<std::uint64_t>, 64> known;

std::atomic<std::uint64_t>& known_place(std::uintptr_t anchor) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  return known[(anchor * kOdd) >> 58];
}

StackBounds recall(std::uintptr_t anchor) noexcept {
  const std::uint64_t entry = known_place(anchor).load(std::memory_order_relaxed);
  if (entry >> kPageBits != anchor >> 6) return {};
  return {(anchor & ~std::uintptr_t{4095}) - (entry & kMaxPages) * 4096, anchor};
}

void remember(const StackBounds& stack) noexcept {
  const std::uint64_t pages = (stack.end - stack.begin) / 4096;
  if (stack.end % 64 != 0 || stack.end >= kMaxAnchor || pages > kMaxPages) return;
  known_place(stack.end).store(std::uint64_t{stack.end >> 6} << kPageBits | pages, std::memory_order_relaxed);
}

}  // namespace

StackBounds own_stack() noexcept {
  const bool is_main = is_main_thread();
  const std::uintptr_t anchor = anchor_of_this_thread(is_main);
  if (is_main) return read_bounds(anchor, true);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const StackBounds recalled = recall(anchor);
  if (recalled.holds(here)) return recalled;
  const StackBounds stack = read_bounds(anchor, false);
  if (stack.end != 0) remember(stack);
  return stack;
}

}  // namespace synctrace::capture
