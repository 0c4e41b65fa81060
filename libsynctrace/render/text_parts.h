// SPDX-License-Identifier: Apache-2.0
// The parts of a text report, each in a file of its own. A part writes nothing where it has nothing to say.
#pragma once

#include "findings/report/report.h"
#include "render/text_page.h"

namespace synctrace {

// The head: what binds the program, and its steps.
void render_verdict(const Report& report, TextPage& page);
// Why each GPU was idle, and what fixing it would save.
void render_causes(const Report& report, TextPage& page);
void render_savings(const Report& report, TextPage& page);

// What the host threads did beside CUDA calls: where they slept, and where samples found them.
void render_host_threads(const Report& report, TextPage& page);
void render_samples(const Report& report, TextPage& page);

// The tables beside causes and waits.
void render_irregular_steps(const Report& report, TextPage& page);
void render_ranges(const Report& report, TextPage& page);
void render_apis(const Report& report, TextPage& page);
void render_pageable_copies(const Report& report, TextPage& page);
void render_step_allocations(const Report& report, TextPage& page);
void render_kernel_families(const Report& report, TextPage& page);

}  // namespace synctrace
