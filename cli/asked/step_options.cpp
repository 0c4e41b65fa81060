// SPDX-License-Identifier: Apache-2.0
#include "asked/step_options.h"

#include "base/format_text.h"

namespace synctrace::cli {

CommandOption declare_step_range(const CommandLine& app, const std::string& name, std::string& range) {
  return app.add(name, range, "the NVTX range that is one step; numbers in its name do not count", "NAME");
}

CommandOption declare_step_line(const CommandLine& app, std::string& line) {
  return app.add("--step-line", line, "the line at which a step begins, whenever a thread comes there", "FILE:LINE")
      .is_file_line();
}

CommandOption declare_phase(const CommandLine& app, std::optional<int>& phase) {
  return app.add_number("--phase", phase, 1, 1'000, "which of several loops to report about: 1 has the most time", "N");
}

std::optional<std::string> missing_phase(const Report& report, const StepQuestion& question) {
  const std::size_t count = report.phases.size();
  if (question.phase <= 1 || (count >= question.phase && report.phases.front().reported)) return std::nullopt;
  return format_text("{} has {} phase{}: there is no --phase {}.", report.path,
                     count == 0 ? "no" : std::to_string(count), count == 1 ? "" : "s", question.phase);
}

std::optional<std::string> missing_steps(const Report& report, const StepQuestion& question) {
  if (report.steps.figures.count > 0) return std::nullopt;
  if (!question.line.empty())
    return format_text("no thread of {} was seen at {} three times or more; its report is without steps", report.path,
                       question.line);
  if (question.range.empty()) return std::nullopt;
  return format_text(
      "no NVTX range '{}' comes three times or more, without overlap, on a thread of {}; its report is without steps",
      question.range, report.path);
}

}  // namespace synctrace::cli
