// SPDX-License-Identifier: Apache-2.0
// What the host threads did beside CUDA calls, as tables of a text report.
#pragma once

#include "findings/report/report.h"

namespace synctrace {

class TextPage;

// Nothing where there is nothing.
void render_host_threads(const Report& report, TextPage& page);  // where they slept
void render_samples(const Report& report, TextPage& page);

}  // namespace synctrace
