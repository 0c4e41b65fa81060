# SPDX-License-Identifier: Apache-2.0
# The pages on rules and verdicts, as the C++ source OUTPUT: cmake -DOUTPUT=rule_pages.cpp -DDOCS=docs -P rule_pages.cmake
include(${CMAKE_CURRENT_LIST_DIR}/../../raw_literals.cmake)

file(READ "${DOCS}/rules.md" rules)
file(READ "${DOCS}/verdicts.md" verdicts)
raw_literals("${rules}" rules_code)
raw_literals("${verdicts}" verdicts_code)
file(WRITE "${OUTPUT}" "// SPDX-License-Identifier: Apache-2.0
// Made by rule_pages.cmake.
#include \"findings/remedies/rule_pages.h\"

namespace synctrace {
namespace {

constexpr char kRules[] = ${rules_code};
constexpr char kVerdicts[] = ${verdicts_code};

}  // namespace

std::string_view rules_page() noexcept { return {kRules, sizeof(kRules) - 1}; }
std::string_view verdicts_page() noexcept { return {kVerdicts, sizeof(kVerdicts) - 1}; }

}  // namespace synctrace
")
