// SPDX-License-Identifier: Apache-2.0
// What mending each place would save, alone and in the best order, as a report shows it.
#pragma once

#include "attribution/attribute.h"
#include "report/report.h"
#include "report/user_lines.h"
#include "report/what_if_question.h"

namespace synctrace {

// Fills the savings of `report` and of its causes. After the causes.
void add_savings(const Trace& trace, const Attribution& attribution, UserLines& lines, const WhatIfQuestion& question, Report& report);

// What to do at a place: "read the value one step later".
std::string_view remedy_words(Remedy remedy) noexcept;
std::string_view remedy_name(Remedy remedy) noexcept;  // for programs: "defer-read"
std::string_view grade_name(Grade grade) noexcept;     // "none", "low", "medium", "high"

}  // namespace synctrace
