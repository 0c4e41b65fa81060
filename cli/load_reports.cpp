// SPDX-License-Identifier: Apache-2.0
#include "load_reports.h"

#include <utility>

#include "messages.h"
#include "progress.h"
#include "step_options.h"
#include "trace_files.h"

namespace synctrace::cli {

std::optional<std::vector<Report>> load_reports(std::span<const std::string> files, const Asked& asked, const char* who,
                                                const SeeReport& see, bool draws) {
  std::vector<Report> reports;
  Progress progress(true, files.size());
  for (std::size_t file = 0; file < files.size(); ++file) {
    progress.next("reading trace", files[file]);
    std::optional<Joins> joins;
    std::optional<Trace> trace = load_or_say(files[file], who, &joins);
    if (!trace) continue;
    asked.names.add_to(*trace);
    progress.again("explaining idle time, trace", files[file]);
    const Findings findings(*trace, {asked.user_code, asked.steps, draws}, std::move(joins));
    progress.again("predicting savings, trace", files[file]);
    reports.push_back(findings.report(asked.all, asked.question));
    if (const auto wrong = missing_phase(reports.back(), asked.steps)) {
      say::error(who, *wrong);
      return std::nullopt;
    }
    if (draws) progress.again("drawing the timeline, trace", files[file]);
    if (see) see(file, reports.back(), findings);
    if (const auto missing = missing_steps(reports.back(), asked.steps)) say::warn(who, *missing);
  }
  return reports;
}

}  // namespace synctrace::cli
