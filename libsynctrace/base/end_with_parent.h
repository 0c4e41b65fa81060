// SPDX-License-Identifier: Apache-2.0
// For a child between fork and exec: nobody collects or wants its work once its parent is gone.
#pragma once

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

namespace synctrace {

// The calling process is killed when the thread of `parent` that made it ends, however that ends. So the thread must
// wait for the child. What the child starts itself is not meant.
inline void end_with_parent(pid_t parent) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) raise(SIGKILL);  // it was gone before we asked
}

}  // namespace synctrace
