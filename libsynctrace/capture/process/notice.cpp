// SPDX-License-Identifier: Apache-2.0
#include "capture/process/notice.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "capture/process/own_descriptors.h"

namespace synctrace::capture {
namespace {

std::atomic<bool> is_quiet{false};

// Where one thread's lines go instead.
std::span<char> collected;
pthread_t collecting_thread;
std::atomic<bool> is_collecting{false};

// A closed or full stderr is the program's affair, not ours. On a thread of the program the signal about a pipe that
// nobody reads, or about a file as large as the limit, would end it: it is held back, and taken away where it came.
void write_to_stderr(const char* line, std::size_t length) noexcept {
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, SIGPIPE);
  sigaddset(&ours, SIGXFSZ);
  sigset_t before;
  if (pthread_sigmask(SIG_BLOCK, &ours, &before) != 0) return;
  // Only where the program holds them back itself may one be there already, which is its own.
  sigset_t pending;
  sigemptyset(&pending);
  if (sigismember(&before, SIGPIPE) == 1 || sigismember(&before, SIGXFSZ) == 1) sigpending(&pending);
  const bool is_error = write(STDERR_FILENO, line, length) < 0;
  const int brought = is_error && errno == EPIPE ? SIGPIPE : is_error && errno == EFBIG ? SIGXFSZ : 0;
  if (brought != 0 && sigismember(&pending, brought) == 0) {
    const timespec now{};
    sigemptyset(&ours);
    sigaddset(&ours, brought);
    sigtimedwait(&ours, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Lines of threads that cannot write them. There are few such lines: when all places are taken, the next is lost.
struct LeftLine {
  enum State : std::uint32_t { kFree, kTaken, kReady };
  std::atomic<std::uint32_t> state{kFree};
  std::uint32_t length = 0;
  char text[512]{};
};
constinit std::array<LeftLine, 4> left_lines;

void leave(const char* text, std::size_t length) noexcept {
  for (LeftLine& line : left_lines) {
    std::uint32_t expected = LeftLine::kFree;
    if (!line.state.compare_exchange_strong(expected, LeftLine::kTaken, std::memory_order_acquire)) continue;
    std::memcpy(line.text, text, length);
    line.length = static_cast<std::uint32_t>(length);
    line.state.store(LeftLine::kReady, std::memory_order_release);
    return;
  }
}

bool collect(const char* format, va_list arguments) noexcept {
  if (!is_collecting.load(std::memory_order_acquire) || pthread_equal(collecting_thread, pthread_self()) == 0)
    return false;
  if (collected.front() == '\0') std::vsnprintf(collected.data(), collected.size(), format, arguments);
  return true;
}

void write_line(const char* format, va_list arguments) noexcept {
  const int saved_errno = errno;
  constexpr char kPrefix[] = "synctrace: ";
  char line[512];
  std::memcpy(line, kPrefix, sizeof(kPrefix) - 1);
  constexpr std::size_t kRoom = sizeof(line) - sizeof(kPrefix) - 1;
  const int wanted = std::vsnprintf(line + sizeof(kPrefix) - 1, kRoom, format, arguments);
  std::size_t length = sizeof(kPrefix) - 1;
  if (wanted > 0) length += static_cast<std::size_t>(wanted) < kRoom ? static_cast<std::size_t>(wanted) : kRoom - 1;
  line[length++] = '\n';
  has_own_descriptors() ? leave(line, length) : write_to_stderr(line, length);
  errno = saved_errno;
}

}  // namespace

void notice(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  if (!collect(format, arguments)) write_line(format, arguments);
  va_end(arguments);
}

void remark(const char* format, ...) noexcept {
  if (is_quiet.load(std::memory_order_relaxed)) return;
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

void deliver_notices() noexcept {
  for (LeftLine& line : left_lines) {
    if (line.state.load(std::memory_order_relaxed) != LeftLine::kReady) continue;
    std::uint32_t expected = LeftLine::kReady;
    if (!line.state.compare_exchange_strong(expected, LeftLine::kTaken, std::memory_order_acquire)) continue;
    write_to_stderr(line.text, line.length);
    line.state.store(LeftLine::kFree, std::memory_order_release);
  }
}

void collect_notices(std::span<char> room) noexcept {
  collected = room;
  collecting_thread = pthread_self();
  is_collecting.store(!room.empty(), std::memory_order_release);
}

void set_quiet(bool quiet) noexcept { is_quiet.store(quiet, std::memory_order_relaxed); }

}  // namespace synctrace::capture
