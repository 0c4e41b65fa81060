// SPDX-License-Identifier: Apache-2.0
// Names and source text for the stacks of a trace, while the files that ran are still there. Each program or library is
// read in a process of its own, with bounded memory and time, because a broken one may crash whoever reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/source_roots.h"
#include "model/load_stats.h"
#include "model/trace.h"

namespace synctrace {

struct NameOptions {
  bool debuginfod = false;  // may ask the servers of DEBUGINFOD_URLS
  SourceRoots roots;        // whose files may be read; everywhere: the trace was made here, by the one who asks

  // Told while it runs, where they are not empty: the next of `of` programs and libraries, and what it lacked.
  std::function<void(const std::string& path, std::size_t of)> next_file;
  std::function<void(const std::string& path, std::string_view loss)> lacks;
};

// Fills in what the trace lacks; nothing where it was stored with its names. Losses are counted in the trace and
// answered.
LoadStats add_names(Trace& trace, const NameOptions& options);

enum class NamesStored : std::uint8_t {
  kStored,
  kNoStacks,  // nothing to name
  kAlready,   // it had them
};

// The same for the trace in a file, which gets them at its end.
Result<NamesStored> store_names(const std::string& path, const NameOptions& options);

}  // namespace synctrace
