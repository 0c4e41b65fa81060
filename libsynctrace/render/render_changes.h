// SPDX-License-Identifier: Apache-2.0
// The digest as JSON: docs/changes.schema.json says what it holds. Names and values are those of the full report
// (render_json.h); what is not known is null.
#pragma once

#include <cstddef>
#include <string>

#include "render/digest_parts.h"

namespace synctrace {

inline constexpr int kChangesSchemaVersion = 1;
inline constexpr std::size_t kMostChangesBytes = 5'000;

// One line, within the limit: what has no room is counted.
std::string render_changes(const ReportDigest& digest);

}  // namespace synctrace
