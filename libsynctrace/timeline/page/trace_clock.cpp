// SPDX-License-Identifier: Apache-2.0
#include "timeline/page/trace_clock.h"

#include "base/shown_text.h"
#include "model/wall_clock.h"

namespace synctrace::page {

TraceClock clock_of(const Trace& trace) {
  return {printable(fact(trace, "host")), measured_lead_ns(trace), {trace.first_ns, trace.last_ns}, std::nullopt};
}

}  // namespace synctrace::page
