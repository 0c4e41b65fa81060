// SPDX-License-Identifier: Apache-2.0
// What the host threads did beside CUDA calls: where they slept in the C library, exactly, and what samples found them
// at.
#pragma once

#include "model/trace.h"
#include "report/report.h"
#include "report/user_lines.h"

namespace synctrace {

class TextPage;

// Fills host_waits and samples of `report`.
void add_host_threads(const Trace& trace, UserLines& lines, Report& report);

// Both as tables; nothing where there is nothing.
void render_host_threads(const Report& report, TextPage& page);

}  // namespace synctrace
