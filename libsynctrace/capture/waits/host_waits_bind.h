// SPDX-License-Identifier: Apache-2.0
// Looks up the functions behind the interposed ones: once, in the library's constructor, before the program has
// threads. Afterwards none of them needs the loader any more, so they may be called from signal handlers.
#pragma once

namespace synctrace::capture {

void bind_thread_calls() noexcept;
void bind_file_calls() noexcept;
void bind_syscall() noexcept;
void bind_signal_stack_call() noexcept;

}  // namespace synctrace::capture
