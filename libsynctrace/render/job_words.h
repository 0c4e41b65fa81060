// SPDX-License-Identifier: Apache-2.0
// The sentences of a job's answer. Each is empty where there is nothing to say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "findings/report/job_report.h"

namespace synctrace {

std::string job_headline(const JobReport& report);  // "RANK 1 HOLDS UP RANK 0"
std::string job_sentence(const JobReport& report);
std::string job_gain_sentence(const JobReport& report);

// Rows of the causes that would save a hundredth, as many as there is room for; and a sentence about the others.
struct ShownCauses {
  std::vector<std::size_t> rows;
  std::string left_out;
};
ShownCauses shown_causes(const JobReport& report, std::size_t most);

// What a rank did, as a title: "Read the value one step later [ST020], rank 1 only".
std::string job_cause_title(const JobReport& report, const JobCause& cause);
// "late 120 times, by 6.2 ms more than other ranks take there; the others wait 6.1 ms each".
std::string job_cause_evidence(const JobReport& report, const JobCause& cause);

// For one rank's report: whom it waited for in its job, and who waited for it; empty for a process alone.
std::string in_job_sentence(const Report& report);
// "Read the value after the exchange has begun [ST063], all ranks".
std::string job_pattern_title(const JobPattern& pattern);
// "30 AllReduce of 64.0 KiB a step move data for 450 us".
std::string job_pattern_evidence(const JobReport& report, const JobPattern& pattern);
// What it saves, or that this is not predicted.
std::string job_pattern_saving(const JobReport& report, const JobPattern& pattern);
// Whether a screen has room for it: worth a hundredth of the job's time, or of unknown worth.
bool is_worth_a_row(const JobReport& report, const JobPattern& pattern) noexcept;

// What was left out, what is missing, what does not fit together.
std::vector<std::string> job_limits(const JobReport& report);

// Where it is: a line, a kernel, or both; empty: not known.
std::string job_cause_place(const JobCause& cause);

std::string hosts_words(const JobReport& report);  // "2 hosts"
// "rank 3", "process 4711".
std::string rank_words(const std::string& label);

// All ranks by number; of more than `most`, those that the others waited for most.
std::vector<std::size_t> ranks_in_order(const JobReport& report, std::size_t most);

}  // namespace synctrace
