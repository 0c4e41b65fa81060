// SPDX-License-Identifier: Apache-2.0
#include "capture/process/own_descriptors.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/process/numbered_entries.h"
#include "capture/process/plain_syscalls.h"

namespace synctrace::capture {
namespace {

thread_local __attribute__((tls_model("initial-exec"))) constinit bool is_own = false;

// Not in the headers of every system that we are built on.
constexpr long kCloseRange = 436;
constexpr unsigned kUnshare = 1U << 1;

// Closes what the calling thread's table holds, as the kernel lists it. What one round closes shifts the next one's
// list, so it is read until nothing is left.
bool close_all() noexcept {
  const int folder = open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  for (bool any = true; any;) {
    any = false;
    lseek(folder, 0, SEEK_SET);
    for_each_number(folder, [&](int descriptor) noexcept {
      if (descriptor != folder && close(descriptor) == 0) any = true;
      return true;
    });
  }
  close(folder);
  return true;
}

}  // namespace

// A thread that shares its table with nobody has a copy of it until all is closed: for microseconds the program's files
// have one more owner. The kernel's record locks are not lost by it: they belong to the table.
bool take_own_descriptors() noexcept {
  if (plain_syscalls_only()) return false;
  is_own = syscall(kCloseRange, 0U, ~0U, kUnshare) == 0 || (unshare(CLONE_FILES) == 0 && close_all());
  return is_own;
}

bool has_own_descriptors() noexcept { return is_own; }

}  // namespace synctrace::capture
