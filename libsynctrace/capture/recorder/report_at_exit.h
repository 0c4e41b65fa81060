// SPDX-License-Identifier: Apache-2.0
// SYNCTRACE_REPORT: after the trace is closed, the command line tool beside this library writes the report. Exit only.
#pragma once

#include <span>

namespace synctrace::capture {

// Runs `synctrace report` on `trace` and waits for it. `target` is a file, or "-" for stderr. A failure is one notice.
// `room` is for the tool's environment: variables beyond it are left out.
void report_at_exit(const char* trace, const char* target, std::span<char*> room) noexcept;

}  // namespace synctrace::capture
