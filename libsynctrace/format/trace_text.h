// SPDX-License-Identifier: Apache-2.0
// The text form of a trace: lossless for an intact one, in both directions, so that fixtures are written and reviewed
// as text and `synctrace dump` shows everything. For the offline half; errors name the line.
//
//   synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=42 format_minor=2
//   chunk
//   schema kind=23 name="kernel" field_list="begin_ns:d duration_ns:u ..."
//   kernel begin_ns=123 duration_ns=45 device=0 ...
//
// One record a line, all its fields by name; numbers are decimal, delta fields as absolute values. Printable characters
// stand for themselves in a quoted text; a quote and a backslash follow a backslash, and \n \t \r \xNN are bytes. A
// line `chunk` begins the next chunk (`chunk sequence=7` where numbers are missing). In text written by hand, blank
// lines and lines that begin with # are passed over, a field left out is zero or empty, the line `schemas` stands for
// the schema records of this version, and a kind without a schema line has this version's layout.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/trace_reader.h"

namespace synctrace::format {

// Takes the text piece by piece, in order; the view is valid during the call.
using TextSink = std::function<void(std::string_view)>;

// Writes what is left in `reader`. What could not be read follows in a comment line at the end.
void write_text(TraceReader& reader, const TextSink& sink);

// The bytes of the trace that `text` describes. `name` stands for the text in messages. One of more than 8 times
// the text and 16 MiB is refused.
Result<std::vector<std::byte>> assemble_text(std::string_view text, const std::string& name);

}  // namespace synctrace::format
