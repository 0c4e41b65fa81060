// SPDX-License-Identifier: Apache-2.0
// docs/rules.md and docs/verdicts.md as they were when this was built (rule_pages.cmake).
#pragma once

#include <string_view>

namespace synctrace {

std::string_view rules_page() noexcept;
std::string_view verdicts_page() noexcept;

}  // namespace synctrace
