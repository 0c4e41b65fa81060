// SPDX-License-Identifier: Apache-2.0
// What calls did at a line of the user's, and in all. Times are ns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "findings/report/rules.h"
#include "findings/report/source_line.h"
#include "findings/report/wait_figures.h"

namespace synctrace {

// What the calls of a site did, as a whole.
enum class SiteVerdict : std::uint8_t {
  kWaits,      // every call waited for the GPU
  kSometimes,  // some did
  kRedundant,  // explicit waits, never anything to wait for
  kOwnCopy,    // waited at most for its own transfer
  kNoWait,
  kUnclear,
};

// Calls of one CUDA function with one kind of copy.
struct SiteCalls {
  const Rule* rule = nullptr;  // null: no rule
  std::string function;        // CUDA's, or the C library's where the program slept outside of CUDA
  std::string direction;       // a copy's: "H2D", "D2H"...; else empty
  std::string memory;          // on the host's side of a copy: "pageable", "pinned"...; empty when there is none
  std::string note;            // "creates the context"; empty for most
  WaitFigures figures;
};

// What a user would fix in one place: the calls of a function from one line, or the copies from one line together with
// the synchronisation that stands behind each of them, as one statement of a framework makes them.
struct CallSite {
  SourceLine where;
  std::vector<SiteCalls> calls;  // one, or two; the first gives the site its rule
  WaitFigures figures;           // a copy and its synchronisation are one call
  bool can_wait = false;
  bool is_poll = false;
  SiteVerdict verdict = SiteVerdict::kNoWait;

  const Rule* rule() const noexcept { return calls.front().rule; }
  const std::string& function() const noexcept { return calls.front().function; }
};

// All calls of one CUDA function. The quantiles are right to 2 %.
struct ApiReport {
  std::string function;
  WaitFigures figures;
  Nanoseconds p50_ns = 0;
  Nanoseconds p99_ns = 0;
};

}  // namespace synctrace
