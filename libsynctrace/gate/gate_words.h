// SPDX-License-Identifier: Apache-2.0
// Findings in sentences, and the words that several renderers share. Texts come from the program under test and are
// made printable where they were read; each renderer escapes for its own format.
#pragma once

#include <string>
#include <string_view>

#include "gate/gate.h"

namespace synctrace {

// What the calls of a place did, and how often.
std::string finding_message(const Finding& finding);

std::string_view status_word(GateStatus status) noexcept;  // "failed"

// One sentence about the whole.
std::string status_sentence(const GateResult& result);

// What a rule is, in a sentence, and what to do about it in one more; empty where there is no such rule.
std::string rule_sentence(std::string_view rule_id);
std::string rule_advice(std::string_view rule_id);

std::string_view counted_in_word(CountedIn counted_in) noexcept;  // "step", for programs

// "train.py:88"; the name of a function where the line is not known.
std::string place_text(const Finding& finding);

}  // namespace synctrace
