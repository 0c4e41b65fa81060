// SPDX-License-Identifier: Apache-2.0
// Names and source text for the stacks of a trace, while the files that ran are still there. Each program or library is
// read in a process of its own, with bounded memory and time, because a broken one may crash whoever reads it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/load_stats.h"
#include "model/source_roots.h"
#include "model/trace.h"

namespace synctrace::cli {

struct NameOptions {
  bool wanted = true;       // --no-symbols
  bool debuginfod = false;  // --debuginfod
  SourceRoots roots;        // whose files may be read: --source-root
  bool progress = true;     // a line on a terminal when it takes more than a second
};

// Fills in what the trace lacks. Losses are counted in the trace and answered.
LoadStats look_up_names(Trace& trace, const NameOptions& options);

enum class NamesStored : std::uint8_t {
  kStored,
  kNoStacks,  // nothing to name
  kAlready,   // it had them
};

// Looks them up and adds them to the trace's file.
Result<NamesStored> store_names(const std::string& path, const NameOptions& options);

}  // namespace synctrace::cli
