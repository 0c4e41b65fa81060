// SPDX-License-Identifier: Apache-2.0
#include "capture/notice.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace synctrace::capture {
namespace {

std::atomic<bool> is_quiet{false};

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
  // A closed or full stderr is the program's affair, not ours.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, length);
  errno = saved_errno;
}

}  // namespace

void notice(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

void remark(const char* format, ...) noexcept {
  if (is_quiet.load(std::memory_order_relaxed)) return;
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

void set_quiet(bool quiet) noexcept { is_quiet.store(quiet, std::memory_order_relaxed); }

}  // namespace synctrace::capture
