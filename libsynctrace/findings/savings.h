// SPDX-License-Identifier: Apache-2.0
// What the fix of each place would save, alone and in the best order, as a report shows it.
#pragma once

#include "findings/calls/stack_places.h"
#include "findings/report/report.h"
#include "findings/what_if_question.h"

namespace synctrace {

struct Attribution;

// Fills the savings of `report` and of its causes. After the causes.
void add_savings(const Trace& trace, const Attribution& attribution, StackPlaces& places,
                 const WhatIfQuestion& question, Report& report);

}  // namespace synctrace
