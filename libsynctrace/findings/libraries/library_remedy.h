// SPDX-License-Identifier: Apache-2.0
// What a library itself offers against a wait inside of it: an argument, a setting, another method. Data, a row for
// each wait that was read in the library's source, in the versions named.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/shares.h"
#include "findings/report/source_line.h"

namespace synctrace {

// What was recorded there.
enum class At : std::uint8_t {
  kRead,    // the host reads a value from the GPU
  kWait,    // the host waits, and reads nothing
  kCopy,    // a copy to the GPU that the host waits for
  kInput,   // the host waits for its data
  kHost,    // the host's own code
  kLaunch,  // many small kernels
  kMemory,  // memory of the GPU is allocated or released
};

struct LibraryRemedy {
  std::string_view library = {};
  std::string_view versions = {};  // whose source was read
  std::string_view file = {};      // a part of the path of a frame; empty: the user's own line tells
  std::string_view function = {};  // that frame's function, or its last parts; empty: any
  std::string_view line = {};      // a part of the text of that frame's line; empty: any
  At at = At::kRead;
  std::string_view unless = {};  // a part of the user's line that shows that it is done already; empty: none
  std::string_view title = {};
  std::string_view to_type = {};
  std::string_view keeps = {};  // what changes by it; empty: nothing
  // kHost: all of the host's time at that line goes; else it is halved. kRead: all that is done there goes, so also
  // what the host must read to know a size.
  bool goes = false;
  ShareRange stays = {percent(0), percent(0), percent(0)};  // what is done in its place, a share of the time that goes
};

std::span<const std::span<const LibraryRemedy>> library_remedies() noexcept;

// The first row whose frame is inside of that line's call, or else that knows the line itself; null where none fits.
// `framework`: whose functions the line calls, "torch"; the text alone does not tell.
const LibraryRemedy* library_remedy(const SourceLine& where, At at, std::string_view framework);

// Where a row asks for workers: the row of the same library that keeps those it has. Null: there is none.
const LibraryRemedy* keeps_workers(const LibraryRemedy& row);

// Whether a line has that call. Its name begins where the text says, so that "unique(" is not in "is_unique(".
bool has_call(std::string_view source, std::string_view call);

// Whether waits of that frame are told apart from others of the user's line: a row is about it. kLine: about that line
// of it, kFunction: about all of the function, kFile: of the file. `source`: the text of its line, asked for where it
// counts.
enum class LibraryFrame : std::uint8_t { kOther, kFile, kFunction, kLine };
LibraryFrame library_frame(const ResolvedFrame& frame, const std::function<std::string_view()>& source);

}  // namespace synctrace
