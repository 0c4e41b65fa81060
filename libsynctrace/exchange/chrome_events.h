// SPDX-License-Identifier: Apache-2.0
// The events of one process, in the order of their begins. Only chrome_trace uses it.
#pragma once

#include "exchange/chrome_rows.h"
#include "exchange/chrome_trace.h"
#include "model/trace.h"

namespace synctrace::chrome {

// The wall clock's lead over the trace's own clock.
Nanoseconds clock_lead_ns(const Trace& trace) noexcept;

void write_events(const Trace& trace, const ChromeOptions& options, Shared& shared);

}  // namespace synctrace::chrome
