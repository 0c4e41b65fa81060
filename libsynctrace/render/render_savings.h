// SPDX-License-Identifier: Apache-2.0
// The part of a text report that says what fixing the causes would save.
#pragma once

#include <string>

#include "findings/report/report.h"
#include "render/text_page.h"

namespace synctrace {

// For a row in the table of causes: "12.3 %", "none", or "-" where no fix was tried.
std::string saving_word(const Report& report, const IdleCause& cause);

void render_savings(const Report& report, TextPage& page);

}  // namespace synctrace
