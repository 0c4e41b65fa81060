// SPDX-License-Identifier: Apache-2.0
// The events of one process, in the order of their begins. Only chrome_trace uses it.
#pragma once

#include "exchange/chrome_rows.h"
#include "exchange/chrome_trace.h"
#include "model/trace.h"

namespace synctrace::chrome {

void write_events(const Trace& trace, const RankLane* rank, const ExportOptions& options, Shared& shared);

}  // namespace synctrace::chrome
