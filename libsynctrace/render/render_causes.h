// SPDX-License-Identifier: Apache-2.0
// The head of a text report: what binds the program, its steps, and why each GPU was idle.
#pragma once

#include "findings/report/report.h"
#include "render/render_text.h"

namespace synctrace {

class TextPage;

void render_verdict(const Report& report, TextPage& page);  // fields of the head
void render_causes(const Report& report, TextPage& page);

}  // namespace synctrace
