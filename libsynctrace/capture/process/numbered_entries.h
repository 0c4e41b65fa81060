// SPDX-License-Identifier: Apache-2.0
// The numbers among the names in a folder of /proc: descriptors, threads, processes. Without the C library's folders,
// which allocate.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace synctrace::capture {

namespace folder {

struct Entry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};

// The number that a name is; -1 for "." and all that is none.
inline int number_of(const char* name) noexcept {
  int value = 0;
  for (; *name != '\0'; ++name) {
    if (*name < '0' || *name > '9' || value > 100'000'000) return -1;
    value = value * 10 + (*name - '0');
  }
  return value;
}

}  // namespace folder

// Calls visit(int) for each, from where the folder's descriptor stands, until it returns false.
template <class Visit>
void for_each_number(int descriptor, Visit&& visit) noexcept {
  alignas(folder::Entry) char room[4096];
  for (long bytes; (bytes = syscall(SYS_getdents64, descriptor, room, sizeof(room))) > 0;) {
    for (long at = 0; at < bytes;) {
      folder::Entry entry;
      std::memcpy(&entry, room + at, offsetof(folder::Entry, name));
      const int number = folder::number_of(room + at + offsetof(folder::Entry, name));
      if (number >= 0 && !visit(number)) return;
      at += entry.bytes;
    }
  }
}

}  // namespace synctrace::capture
