// SPDX-License-Identifier: Apache-2.0
// File descriptors that the program cannot see, close or get in the way of. Descriptors belong to a table, and threads
// of a process share one; a thread of ours takes an empty table of its own, and what it opens is its own. So the
// program's lowest free number stays what it was, and whatever it closes, duplicates over or inherits to a child is
// never ours.
//
// Such a thread must not call CUDA or CUPTI, which use descriptors of the program's table, and cannot write to the
// program's stderr: what it says, the drain thread writes (notice.h).
#pragma once

namespace synctrace::capture {

// Gives the calling thread an empty table. False where the system refuses (filters of containers), or shall not be
// asked (plain_syscalls.h): the thread then shares the program's. Linux 5.9 has one call for it; before that
// descriptors are closed one by one.
[[nodiscard]] bool take_own_descriptors() noexcept;

// Does the calling thread have a table of its own?
bool has_own_descriptors() noexcept;

}  // namespace synctrace::capture
