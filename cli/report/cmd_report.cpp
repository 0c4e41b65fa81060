// SPDX-License-Identifier: Apache-2.0
// The verb report, and the report that `run` prints at the end.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asked/narrator.h"
#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "files/replaceable.h"
#include "files/standard_streams.h"
#include "files/trace_files.h"
#include "files/way_out.h"
#include "files/whole_file.h"
#include "files/written.h"
#include "findings/findings.h"
#include "findings/job/late_rank.h"
#include "messages.h"
#include "recordings/answers.h"
#include "render/digest_parts.h"
#include "render/first_screen.h"
#include "render/render_changes.h"
#include "render/render_csv.h"
#include "render/render_digest.h"
#include "render/render_job.h"
#include "render/render_job_tables.h"
#include "render/render_json.h"
#include "render/render_markdown.h"
#include "render/render_text.h"
#include "report/report_entry.h"
#include "report/report_options.h"
#include "report/report_recordings.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace report";

// Each process gets a line. The one that comes late, else the one whose GPU lacked most work, gets its first screen.
std::string screens_of(const std::vector<Report>& reports, const ScreenOptions& options) {
  if (reports.empty()) return {};
  const std::optional<LateRank> late = late_rank(reports);
  const Report& most = late ? reports[late->report] : most_lacking(reports);
  const std::string several =
      reports.size() > 1 ? render_processes(reports, most, late, options) + "\n" : std::string();
  return several + render_first_screen(most, options);
}

std::string text_of(const std::vector<Report>& reports, const TextOptions& options) {
  std::string text = reports.size() > 1 ? render_total(reports) + "\n" : std::string();
  for (std::size_t i = 0; i < reports.size(); ++i) text += (i > 0 ? "\n" : "") + render_text(reports[i], options);
  return text;
}

std::string tables_of(const std::vector<Report>& reports, const std::string& name, const TextOptions& options) {
  std::string text;
  for (const Report& report : reports) text += (text.empty() ? "" : "\n") + render_table(report, name, options);
  return text;
}

std::string rendered(const std::vector<Report>& reports, const JobReport* job, const ReportOptions& options) {
  if (options.format == "agent" || options.only_changes) {
    if (job == nullptr && reports.empty()) return {};
    const ReportDigest digest = job != nullptr ? digest_of(*job) : digest_of(most_lacking(reports), reports.size());
    return options.format == "agent" ? render_digest(digest) : render_changes(digest);
  }
  if (options.format == "json") return render_json(reports, job);
  if (options.format == "md") return job != nullptr ? render_job_markdown(*job) : render_markdown(reports);
  if (options.format == "csv") return job != nullptr ? render_job_csv(*job) : render_csv(reports);
  const bool to_stdout = options.output.empty() || options.output == "-";
  const bool colour = to_stdout && wants_colour(stdout);
  const std::size_t columns = to_stdout ? columns_of_terminal(stdout) : kPlainColumns;
  if (!options.table.empty()) return tables_of(reports, options.table, {columns, colour, options.show_stacks});
  const std::string of_job = job == nullptr ? "" : render_job(*job, {columns, colour});
  if (options.full || options.show_stacks)
    return of_job + (of_job.empty() ? "" : "\n") + text_of(reports, {columns, colour, options.show_stacks});
  if (!of_job.empty()) return of_job;
  return screens_of(reports, {columns, colour});
}

int write_report(const std::vector<Report>& reports, const JobReport* job, const ReportOptions& options) {
  if (const auto error = write_whole_file(options.output, rendered(reports, job, options))) {
    say::error(kWho, error->message);
    return kExitUnusable;
  }
  say_written(kWho, {options.output});
  return kExitOk;
}

}  // namespace

int cmd_report(int argc, char** argv) {
  const CommandLine app("Ranks the calls that made the host wait for the GPU.", kWho);
  ReportOptions options;
  declare_report_options(app, options);
  if (const auto end = app.parse(argc, argv)) return *end;
  auto wrong = take_stack_options(options.stacks);
  if (!wrong) wrong = settle_report_options(options);
  if (wrong) {
    say::error(kWho, *wrong);
    return kExitUsage;
  }
  WhatIfQuestion question;
  auto unclear = add_wishes(options.what_if, question);
  if (!unclear) unclear = add_assumptions(options.assume, question);
  if (unclear) {
    say::error(kWho, unclear->message);
    return kExitUsage;
  }
  const Result<std::vector<std::string>> files = expand_traces(options.paths);
  if (!files) {
    say::error(kWho, files.error().message);
    return kExitUnusable;
  }
  if (files.value().empty()) {
    say::error(kWho, no_traces_in(options.paths.front()));
    return kExitNothing;
  }
  for (const OutputFile& output : {OutputFile{options.output, "report " + options.format, "--output"},
                                   OutputFile{options.page, "page", "--html"}}) {
    if (const auto refused = refuse_to_replace(output, options.force_overwrite, files.value())) {
      say::error(kWho, refused->message);
      return kExitUsage;
    }
  }
  question.with_sets = !options.page.empty();
  options.steps.phase = static_cast<std::size_t>(options.phase.value_or(0));
  // What only the text has asks for the text.
  const bool of_text = options.full || options.show_stacks || !options.table.empty();
  const bool page_alone = !options.page.empty() && options.output.empty() && !app.has("--format") && !of_text;
  Narrator narrator(kWho, &options.stacks.names);
  Recordings recordings(files.value(), narrator.asking(options.stacks.user_code, options.steps));
  narrator.find_job(recordings);
  return report_recordings(
      recordings, options, {options.all, question}, page_alone,
      [&](const std::vector<Report>& reports, const JobReport* job) { return write_report(reports, job, options); });
}

int print_report(std::span<const std::string> files, ReportStyle style, const StackOptions& stacks,
                 const StepQuestion& steps, std::FILE* out) {
  if (style == ReportStyle::kNone) return kExitOk;
  const auto print = [out](const std::string& text) {
    return std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
  };
  Narrator narrator(kWho, &stacks.names);
  Recordings recordings({files.begin(), files.end()}, narrator.asking(stacks.user_code, steps));
  if (style == ReportStyle::kShort) narrator.find_job(recordings);
  if (recordings.is_job()) {
    recordings.visit({});
    const JobReport& job = recordings.job();
    if (!print(render_job(job, {columns_of_terminal(out), wants_colour(out)}))) return kExitUnusable;
    return recordings.unreadable() > 0 ? kExitUnusable : kExitOk;
  }
  ReportOptions each;
  each.steps = steps;
  return report_recordings(recordings, each, {}, false, [&](const std::vector<Report>& reports, const JobReport*) {
    const ScreenOptions how{columns_of_terminal(out), wants_colour(out)};
    const bool is_short = style == ReportStyle::kShort;
    const std::string text = is_short ? screens_of(reports, how) : text_of(reports, {how.columns, how.colour, false});
    return print(text) ? kExitOk : kExitUnusable;
  });
}

}  // namespace synctrace::cli
