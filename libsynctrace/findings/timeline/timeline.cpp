// SPDX-License-Identifier: Apache-2.0
#include "findings/timeline/timeline.h"

#include "findings/timeline/wanted_stretches.h"

namespace synctrace::page {

Timeline::Timeline(const Trace& trace, const Attribution& attribution, const Report& report)
    : trace_(trace),
      report_(report),
      occurrences_(find_occurrences(trace, attribution, report)),
      opening_(typical_steps(attribution, report)),
      clock_(clock_of(trace)),
      slices_(trace, attribution, report),
      builder_({trace.first_ns, trace.last_ns}, slices_.lanes().size(),
               wanted_stretches(attribution, report, occurrences_),
               [this](const auto& visit) { slices_.for_each(visit); }) {
  for (const DeviceReport& device : report.devices)
    stacks_.push_back(idle_by_stack(trace, attribution, report, device));
}

}  // namespace synctrace::page
