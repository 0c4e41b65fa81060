// SPDX-License-Identifier: Apache-2.0
#include "recordings/answers.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace synctrace {
namespace {

double share_lacked(const Report& report) {
  const VerdictLine& verdict = report.verdict;
  return verdict.of_ns <= 0 ? 0 : static_cast<double>(verdict.lacked_ns) / static_cast<double>(verdict.of_ns);
}

std::string process_name(const Trace& trace) {
  const std::string_view rank = fact(trace, "rank");
  return rank.empty() ? "process " + std::to_string(trace.process_id) : "rank " + std::string(rank);
}

}  // namespace

const Report& most_lacking(std::span<const Report> reports) {
  return *std::max_element(reports.begin(), reports.end(),
                           [](const Report& a, const Report& b) { return share_lacked(a) < share_lacked(b); });
}

std::vector<StackProfile> stack_profiles(Recordings& recordings, const std::vector<std::size_t>& files) {
  std::vector<StackProfile> profiles;
  Visit visit;
  visit.files = files;
  visit.see = [&](OpenRecording& one) {
    profiles.push_back(one.findings().stack_profile(process_name(one.trace())));
    return true;
  };
  recordings.visit(visit);
  return profiles;
}

}  // namespace synctrace
