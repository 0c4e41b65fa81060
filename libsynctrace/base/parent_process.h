// SPDX-License-Identifier: Apache-2.0
// Whose child a process is. Needs no exceptions and allocates nothing: the probe beside the recorder uses it too.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace synctrace {

// The parent of a process; 0 where it cannot be seen.
inline int parent_of(int process) noexcept {
  char text[512];
  std::snprintf(text, sizeof text, "/proc/%d/stat", process);
  const int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* name_end = std::strrchr(text, ')');  // a name may have blanks and brackets of its own
  int parent = 0;
  return name_end != nullptr && std::sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

}  // namespace synctrace
