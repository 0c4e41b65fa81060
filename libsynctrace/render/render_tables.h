// SPDX-License-Identifier: Apache-2.0
// The tables of a full text report beside causes and waits; each only where it has rows.
#pragma once

#include "findings/report/report.h"

namespace synctrace {

class TextPage;

void render_irregular_steps(const Report& report, TextPage& page);
void render_ranges(const Report& report, TextPage& page);
void render_apis(const Report& report, TextPage& page);
void render_pageable_copies(const Report& report, TextPage& page);
void render_step_allocations(const Report& report, TextPage& page);
void render_kernel_families(const Report& report, TextPage& page);

}  // namespace synctrace
