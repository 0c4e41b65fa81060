// SPDX-License-Identifier: Apache-2.0
// Each fills a part of a report that build_report() has begun, in a file of its own.
#pragma once

#include "findings/calls/line_rules.h"
#include "findings/calls/stack_places.h"
#include "findings/report/report.h"
#include "findings/what_if_question.h"
#include "model/trace.h"

namespace synctrace {

struct Attribution;

// The causes of `report`'s devices, its steps and its verdict: causes merged by rule and by the user's own line,
// dearest first, with what the waits at that line cost the host. After the devices.
void add_idle_causes(const Trace& trace, const Attribution& attribution, const LineRules& rules, StackPlaces& places,
                     Report& report);

// What the fix of each place would save, alone and in the best order: its own savings, and those of its causes. After
// the causes.
void add_savings(const Trace& trace, const Attribution& attribution, StackPlaces& places,
                 const WhatIfQuestion& question, Report& report);

// Makes the range of a saving as wide as predictions were seen to be off.
void widen(Nanoseconds base_ns, Interval& saving);

// What the host threads did beside CUDA calls: where they slept in the C library, exactly, and what samples found them
// at.
void add_host_threads(const Trace& trace, StackPlaces& places, Report& report);

// What happened inside the program's NVTX ranges, by name: what their threads issued and waited for, and what the
// devices did meanwhile. O((ranges + calls + operations) log n), and nothing without ranges.
void add_ranges(const Trace& trace, const Attribution& attribution, Report& report);

// What the GPU's kernels do: the dearest of them, their families and classes. O(operations), and each distinct name is
// looked at once.
void add_kernels(const Trace& trace, Report& report);

// Adds a piece of GPU work to a row.
void count_work(WorkReport& work, const Operation& operation);

// What could not be known: losses of the recorder, damage of the file, and settings of the run under which the figures
// mean something else than usual. Fills `losses`, gravest first, and comes last: it looks at what the report says.
void add_limits(const Trace& trace, const Attribution& attribution, Report& report);

}  // namespace synctrace
