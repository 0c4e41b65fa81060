// SPDX-License-Identifier: Apache-2.0
// SYNCTRACE_REPORT: after the trace is closed, the command line tool beside this library writes the report. Exit only.
#pragma once

namespace synctrace::capture {

// Runs `synctrace report` on `trace` and waits for it. `target` is a file, or "-" for stderr. A failure is one notice.
void report_at_exit(const char* trace, const char* target) noexcept;

}  // namespace synctrace::capture
