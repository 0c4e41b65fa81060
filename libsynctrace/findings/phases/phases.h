// SPDX-License-Identifier: Apache-2.0
// The phases of a program, each with its worst cause, and what lies between them.
#pragma once

#include "findings/report/report.h"

namespace synctrace {

struct Attribution;

// Fills `report`'s phases and what is between its steps. After the causes of its devices and its verdict.
void add_phases(const Attribution& attribution, Report& report);

}  // namespace synctrace
