// SPDX-License-Identifier: Apache-2.0
// SYNCTRACE_CHECK: an invariant whose breach is a bug of ours, not of the trace. On in release builds too: a figure
// that does not add up must never reach a user. Offline half only; the injected half never ends a process.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace synctrace {

[[noreturn]] inline void fail_check(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "synctrace: internal error: %s does not hold (%s:%d). Please report this with the trace.\n",
               condition, file, line);
  std::abort();
}

}  // namespace synctrace

// Without the folders of the machine that compiled it, where the compiler can (gcc 12, clang 9).
#ifdef __FILE_NAME__
#define SYNCTRACE_CHECK_FILE __FILE_NAME__
#else
#define SYNCTRACE_CHECK_FILE __FILE__
#endif
#define SYNCTRACE_CHECK(condition) \
  (static_cast<bool>(condition) ? void() : ::synctrace::fail_check(#condition, SYNCTRACE_CHECK_FILE, __LINE__))
