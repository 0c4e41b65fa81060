// SPDX-License-Identifier: Apache-2.0
// Adds records behind a finished recording: what was found out about it later, such as the names of its addresses. For
// the command line, after the program under test has ended.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "format/record_buffer.h"

namespace synctrace::format {

// Writes what `fill` adds into new chunks at the end of the file. Nothing that was recorded is touched: when it is
// interrupted, the trace ends inside a chunk that held nothing else; when it fails, the file has its old length again.
// Refuses a trace that is damaged (what is left of it is evidence), that is still being written, or whose kinds have
// other layouts than this version writes.
std::optional<Error> append_records(const std::string& path, const std::function<void(RecordBuffer&)>& fill);

}  // namespace synctrace::format
