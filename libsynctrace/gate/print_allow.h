// SPDX-License-Identifier: Apache-2.0
// Entries for synctrace.toml that would allow all that was found; only their reasons are to be filled in.
#pragma once

#include <string>

#include "gate/gate.h"

namespace synctrace {

std::string allow_entries_text(const GateResult& result);

// A text in TOML's quotes.
std::string toml_text(std::string_view text);

}  // namespace synctrace
