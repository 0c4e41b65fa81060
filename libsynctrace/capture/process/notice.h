// SPDX-License-Identifier: Apache-2.0
// What the library says to the user of the program under test: one line on stderr, prefixed "synctrace: ", written
// with a single write(2). No allocation, no stdio (the program's own buffers stay untouched). Any thread; one with
// descriptors of its own, among which stderr is not, leaves its line to the drain thread.
#pragma once

#include <span>

namespace synctrace::capture {

// printf-like. Longer lines are cut at about 500 characters. `errno` is preserved.
__attribute__((format(printf, 1, 2))) void notice(const char* format, ...) noexcept;

// The same, unless SYNCTRACE_QUIET=1: for lines that report success, not trouble.
__attribute__((format(printf, 1, 2))) void remark(const char* format, ...) noexcept;

void set_quiet(bool quiet) noexcept;

// From here on the calling thread's first line goes into `room`, and to nobody else; with no room to stderr again. One
// thread at a time.
void collect_notices(std::span<char> room) noexcept;

// Writes the lines that were left. Drain thread, and at the end of the process.
void deliver_notices() noexcept;

}  // namespace synctrace::capture
