// SPDX-License-Identifier: Apache-2.0
// What to do at a place, and how sure a saving is, in words.
#pragma once

#include <string_view>

#include "whatif/fix.h"

namespace synctrace {

std::string_view fix_words(Fix fix) noexcept;       // "read it one step later"
std::string_view fix_name(Fix fix) noexcept;        // for programs: "defer-read"
std::string_view grade_name(Grade grade) noexcept;  // "none", "low", "medium", "high"

}  // namespace synctrace
