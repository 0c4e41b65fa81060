// SPDX-License-Identifier: Apache-2.0
#include "capture/process/plain_syscalls.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace synctrace::capture {
namespace {

// The number of seccomp filters of a process, or its mode on a kernel that does not count them (before 5.9); -1 when it
// cannot be read.
int filters_of(int process) noexcept {
  char path[32];
  char room[8192];
  std::snprintf(path, sizeof(path), "/proc/%d/status", process);
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return -1;
  const ssize_t bytes = read(descriptor, room, sizeof(room));
  close(descriptor);
  const std::string_view text(room, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  for (const std::string_view label : {"\nSeccomp_filters:\t", "\nSeccomp:\t"}) {
    const std::size_t at = text.find(label);
    int value = -1;
    if (at == std::string_view::npos) continue;
    std::from_chars(text.data() + at + label.size(), text.data() + text.size(), value);
    return value;
  }
  return -1;
}

}  // namespace

bool has_filter_of_its_own() noexcept {
  const int here = filters_of(getpid());
  if (here <= 0) return false;
  const int parent = filters_of(getppid());
  return parent >= 0 && here > parent;
}

}  // namespace synctrace::capture
