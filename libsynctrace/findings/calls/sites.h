// SPDX-License-Identifier: Apache-2.0
// The events of waits.h by call site: by line, function and kind of copy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "findings/calls/line_rules.h"
#include "findings/calls/waits.h"
#include "findings/report/report.h"

namespace synctrace {

// Whether a report is about what began then: about all, or about the windows.
bool is_covered(const Trace& trace, bool covers_all, Nanoseconds begin_ns);

struct SiteGroups {
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  std::vector<CallSite> sites;           // in the order of their first event
  std::vector<std::uint32_t> of_events;  // beside Waits::events(): the site's row; kNone: it is not covered
};

SiteGroups group_sites(const Waits& waits, const LineRules& rules, const StackPlaces& places, bool covers_all);

// Fills waits, long_calls, polls and the totals of calls in `report`, from events that `report` covers.
void add_sites(const Waits& waits, const LineRules& rules, const StackPlaces& places, Report& report);

// The call that names a site without a line: "cudaStreamSynchronize + copy".
std::string called_there(const CallSite& site);

}  // namespace synctrace
