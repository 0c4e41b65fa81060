// SPDX-License-Identifier: Apache-2.0
// Some system calls of the recorder are ones that few programs make, and a seccomp filter may end the process at the
// first of them. Where the user says so, or the program has such a filter when recording starts, it does without.
#pragma once

#include <atomic>

namespace synctrace::capture {

inline constinit std::atomic<bool> only_plain_syscalls{false};

// No call but such as every CUDA program makes. What is lost: stacks and states of threads that make no CUDA call
// (process_vm_readv, tgkill), a file that the program cannot reach (close_range, unshare), the name .partial of an
// unfinished trace and its lock (rename, flock), the low priority of our background thread (setpriority).
inline bool plain_syscalls_only() noexcept { return only_plain_syscalls.load(std::memory_order_relaxed); }

// Does this process have a seccomp filter that its parent has not? False where that cannot be told.
bool has_filter_of_its_own() noexcept;

}  // namespace synctrace::capture
