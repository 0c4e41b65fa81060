// SPDX-License-Identifier: Apache-2.0
// The answer about many recordings, as text and as JSON (docs/fleet.md).
#pragma once

#include <string>

#include "rollup/fleet_answer.h"

namespace synctrace {

// The first rows of each table, for a terminal; texts are made printable.
std::string fleet_text(const FleetAnswer& answer);

// All rows; times are ns.
std::string fleet_json(const FleetAnswer& answer);

}  // namespace synctrace
