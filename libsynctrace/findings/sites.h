// SPDX-License-Identifier: Apache-2.0
// The events of waits.h by call site: by line, function and kind of copy.
#pragma once

#include <cstdint>
#include <vector>

#include "findings/line_rules.h"
#include "findings/report.h"
#include "findings/waits.h"

namespace synctrace {

// Whether the report is about what began then.
bool is_covered(const Trace& trace, const Report& report, Nanoseconds begin_ns);

struct SiteGroups {
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  std::vector<CallSite> sites;           // in the order of their first event
  std::vector<std::uint32_t> of_events;  // beside Waits::events(): the site's row; kNone: the report does not cover it
};

SiteGroups group_sites(const Waits& waits, const LineRules& rules, const StackPlaces& places, const Report& report);

// Fills waits, long_calls, polls and the totals of calls in `report`, from events that `report` covers.
void add_sites(const Waits& waits, const LineRules& rules, const StackPlaces& places, Report& report);

}  // namespace synctrace
