// SPDX-License-Identifier: Apache-2.0
#include "live/live_options.h"

#include "asked/step_options.h"
#include "contract/option_values.h"
#include "messages.h"

namespace synctrace::cli {

void declare_processes(const CommandLine& app, std::string& named) {
  app.add("PID", named, "a process, the launcher of several, or the name of a job; see synctrace ps", "PID|JOB")
      .required();
}

std::vector<DormantProcess> find_processes(const std::string& named, const char* who) {
  std::string problem;
  std::vector<DormantProcess> found = named_processes(named, problem);
  if (found.empty()) say::error(who, problem + ".");
  return found;
}

std::optional<std::string> take_duration(const char* option, const std::string& text, std::int64_t& result_ns,
                                         bool may_be_zero) {
  if (format::parse_duration(text, result_ns) && (may_be_zero || result_ns > 0)) return std::nullopt;
  return std::string(option) + " " + text + ": expected " + format::kExpectedDuration + ".";
}

void declare_level(const CommandLine& app, std::string& level) {
  level = kWaitsAlone;
  app.add("--level", level, "syncs (default) or timeline, as for run; timeline has a price that stays", "LEVEL")
      .one_of({kWaitsAlone, kGpuToo});
}

void declare_live_options(const CommandLine& app, LiveOptions& options) {
  app.add("--report", options.report, "what to print about the window: short (default), full or none", "STYLE")
      .one_of({"short", "full", "none"});
  declare_code_options(app, options.run.stacks);
  declare_name_options(app, options.run.stacks);
  app.add_flag("--no-compress", options.no_compress, "leave the trace as the recorder wrote it");
  app.add_flag("-q,--quiet", options.run.quiet, "print nothing but errors and warnings");
}

std::optional<std::string> take_live_options(LiveOptions& options) {
  if (auto wrong = take_stack_options(options.run.stacks)) return wrong;
  if (options.report == "short") options.run.report = ReportStyle::kShort;
  if (options.report == "full") options.run.report = ReportStyle::kFull;
  if (options.report == "none") options.run.report = ReportStyle::kNone;
  options.run.compress = !options.no_compress;
  options.run.stacks.names.how.roots = SourceRoots::everywhere();  // the program runs here
  options.run.stacks.names.progress = options.run.speaks();
  set_verbosity(options.run.speaks() ? Verbosity::kNotes : Verbosity::kWarnings);
  return std::nullopt;
}

}  // namespace synctrace::cli
