// SPDX-License-Identifier: Apache-2.0
// Parts of the JSON report that its files share. What is not known is null.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "findings/report/job_report.h"
#include "findings/report/report.h"

namespace synctrace {

namespace json {

inline Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }
inline Json rule_or_null(const Rule* rule) { return rule == nullptr ? Json(nullptr) : Json(rule->id); }
inline Json line_or_null(std::uint32_t line) { return line == 0 ? Json(nullptr) : Json(line); }

template <class Rows, class Function>
Json array_of(const Rows& rows, Function&& function) {
  Json array = Json::array();
  for (const auto& row : rows) array.push_back(function(row));
  return array;
}

Json interval_json(const Interval& interval);
Json through_json(const SourceLine& where);  // the helper that waits for this line
Json shown_fix_json(const ShownFix& fix);
Json remedies_json(const SavingsReport& savings);

Json steps_json(const StepsReport& steps);
Json phases_json(const Report& report);
Json between_steps_json(const Report& report);
Json times_json(const Report& report);

// Rows of the tables beside causes and waits.
Json kernel_family_json(const KernelFamily& row);
Json kernel_class_json(const KernelShare& row);
Json api_json(const ApiReport& row);
Json range_json(const RangeReport& row);
Json pageable_copy_json(const CallSite& row);
Json step_allocation_json(const CallSite& row);

// A job: what is said of all of it, and of each rank.
Json job_json(const JobReport& report);
Json job_ranks_json(const JobReport& report);
Json in_job_json(const RankInJob& facts);  // and of one rank in its own report

// What to change about the program's data loader.
Json loader_json(const Report& report);

}  // namespace json
}  // namespace synctrace
