// SPDX-License-Identifier: Apache-2.0
// What rules and verdicts mean (findings/remedies/rule_texts.h), for a terminal, for Markdown and for programs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "findings/remedies/rule_texts.h"

namespace synctrace {

using RuleTexts = std::span<const RuleText* const>;

// Breaks lines at `columns`; code stays as it is.
std::string explanation_text(const RuleText& text, std::size_t columns);
std::string explanation_markdown(const RuleText& text);
std::string explanations_json(RuleTexts texts);

// All names, each with the first sentence about it.
std::string explanation_list(std::size_t columns);

}  // namespace synctrace
