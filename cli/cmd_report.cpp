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

#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "findings/findings.h"
#include "job_files.h"
#include "messages.h"
#include "page_file.h"
#include "progress.h"
#include "render/first_screen.h"
#include "render/render_csv.h"
#include "render/render_job.h"
#include "render/render_json.h"
#include "render/render_markdown.h"
#include "render/render_text.h"
#include "report_entry.h"
#include "standard_streams.h"
#include "step_options.h"
#include "trace_files.h"
#include "whole_file.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace report";

struct Options {
  std::vector<std::string> paths;
  std::string format = "text";
  std::string output;
  StepQuestion steps;
  std::optional<int> phase;
  std::string what_if;
  std::string assume;
  bool all = false;
  bool full = false;
  std::string table;
  std::string rank;
  bool show_stacks = false;
  std::string page;
  std::size_t most_page_bytes = kDefaultPageBytes;
  StackOptions stacks;
};

struct Asked {
  UserCode user_code;
  AskedNames names;
  StepQuestion steps;
  bool all = false;
  WhatIfQuestion question;
};

// Traces are loaded one after the other, so that memory holds one of them at a time. Those that cannot be read are
// worded on stderr and left out. Nothing where one lacks the phase that was asked for, which is worded too.
std::optional<std::vector<Report>> load_reports(std::span<const std::string> files, const Asked& asked,
                                                PageFile* page = nullptr) {
  std::vector<Report> reports;
  Progress progress(true, files.size());
  for (const std::string& file : files) {
    progress.next("reading trace", file);
    std::optional<Joins> joins;
    std::optional<Trace> trace = load_or_say(file, kWho, &joins);
    if (!trace) continue;
    asked.names.add_to(*trace);
    progress.again("explaining idle time, trace", file);
    const Findings findings(*trace, {asked.user_code, asked.steps, page != nullptr}, std::move(joins));
    progress.again("predicting savings, trace", file);
    reports.push_back(findings.report(asked.all, asked.question));
    if (const auto wrong = missing_phase(reports.back(), asked.steps)) {
      say::error(kWho, *wrong);
      return std::nullopt;
    }
    if (page != nullptr) {
      progress.again("drawing the timeline, trace", file);
      page->add(reports.back(), *findings.timeline(reports.back()));
    }
    if (const auto missing = missing_steps(reports.back(), asked.steps)) say::warn(kWho, *missing);
  }
  return reports;
}

// Of several processes a line each, and the first screen of the one whose GPU lacked most work.
std::string screens_of(const std::vector<Report>& reports, const ScreenOptions& options) {
  if (reports.empty()) return {};
  const auto lacked = [](const Report& report) {
    return report.verdict.of_ns <= 0
               ? 0
               : static_cast<double>(report.verdict.lacked_ns) / static_cast<double>(report.verdict.of_ns);
  };
  const auto most = std::max_element(reports.begin(), reports.end(),
                                     [&](const Report& a, const Report& b) { return lacked(a) < lacked(b); });
  const std::string several = reports.size() > 1 ? render_processes(reports, *most, options) + "\n" : std::string();
  return several + render_first_screen(*most, options);
}

// Keeps the reports of one rank; false where there is none.
bool keep_rank(const std::string& rank, std::vector<Report>& reports) {
  std::erase_if(reports, [&](const Report& report) { return report.rank != rank; });
  return !reports.empty();
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

void add_options(const CommandLine& app, Options& options) {
  app.add("TRACE", options.paths, "trace files, or folders of them; unfinished .partial files are fine", "").required();
  app.add("--format", options.format, "text (default), json, md or csv", "FORMAT")
      .one_of({"text", "json", "md", "csv"}, {{"html", "a page for a browser is written by --html FILE."}});
  const CommandOption range = declare_step_range(app, "--steps", options.steps.range);
  declare_step_line(app, options.steps.line).excludes(range);
  declare_phase(app, options.phase);
  app.add("--what-if", options.what_if, "fixes to try together: FIX@FILE:LINE,... (FIX: fix, or a name as in JSON)",
          "FIXES");
  app.add("--assume", options.assume, "pinned, no-input-wait or graph:RANGE; several separated by commas", "WHAT");
  app.add_flag("--full", options.full, "all that is known, not only the first screen");
  std::string names;
  for (const std::string_view name : kTextTables) names += (names.empty() ? "" : ", ") + std::string(name);
  app.add("--table", options.table, "one table of the full text: " + names, "NAME")
      .one_of({kTextTables.begin(), kTextTables.end()});
  app.add("--rank", options.rank, "of several traces, the one of this rank", "RANK");
  app.add_flag("--outside-windows", options.all, "count calls outside the recorded windows too");
  app.add_flag("--stacks", options.show_stacks, "print the stack of each row; JSON always has it");
  declare_code_options(app, options.stacks);
  declare_name_options(app, options.stacks);
  declare_source_options(app, options.stacks.source_roots);
  app.add("-o,--output", options.output, "write the report to FILE instead of stdout", "FILE");
  app.add("--html", options.page, "write a page for a browser, with a timeline; the text then only with --format or -o",
          "FILE");
  app.add_size("--max-html-size", options.most_page_bytes, kFewestPageBytes, kMostPageBytes,
               "the most that page may have, 300k or more (default 5M: 5 MiB)", "SIZE");
}

// Whether files that are one job are reported as one. The other outputs show ranks one by one.
bool asks_for_job(const Options& options) {
  return (options.format == "text" || options.format == "json") && options.table.empty() && options.rank.empty() &&
         options.page.empty() && options.what_if.empty() && options.assume.empty();
}

std::string rendered(const std::vector<Report>& reports, const JobReport* job, const Options& options) {
  if (options.format == "json") return render_json(reports, job);
  if (options.format == "md") return render_markdown(reports);
  if (options.format == "csv") return render_csv(reports);
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

int write_report(const std::vector<Report>& reports, const JobReport* job, const Options& options) {
  if (const auto error = write_whole_file(options.output, rendered(reports, job, options))) {
    say::error(kWho, error->message);
    return kExitUnusable;
  }
  return kExitOk;
}

}  // namespace

int cmd_report(int argc, char** argv) {
  const CommandLine app("Ranks the calls that made the host wait for the GPU.", kWho);
  Options options;
  add_options(app, options);
  if (const auto end = app.parse(argc, argv)) return *end;
  if (const auto wrong = take_stack_options(options.stacks)) {
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
    say::error(kWho, "no *.synctrace file in " + options.paths.front());
    return kExitNothing;
  }
  std::optional<PageFile> page;
  if (!options.page.empty()) {
    if (const auto wrong = PageFile::refusal(options.page, files.value())) {
      say::error(kWho, *wrong);
      return kExitUsage;
    }
    page.emplace(options.page, PageOptions{options.most_page_bytes, files.value().size()});
  }
  options.steps.phase = static_cast<std::size_t>(options.phase.value_or(0));
  std::optional<JobFiles> job;
  if (asks_for_job(options)) {
    job = load_job(files.value(), {options.stacks.user_code, options.steps, false}, options.stacks.names, kWho);
    if (job && options.format == "text" && !options.full && !options.show_stacks) {
      const int written = write_report({}, &job->report, options);
      return job->unreadable > 0 ? kExitUnusable : written;
    }
  }
  std::optional<std::vector<Report>> all = load_reports(
      files.value(), {options.stacks.user_code, options.stacks.names, options.steps, options.all, question},
      page ? &*page : nullptr);
  if (!all) return kExitUsage;
  std::vector<Report> reports = std::move(*all);
  if (reports.empty()) return kExitUnusable;
  const std::size_t loaded = reports.size();
  if (!options.rank.empty() && !keep_rank(options.rank, reports)) {
    say::error(kWho, "none of the traces is of rank " + options.rank + "; without --rank all are shown.");
    return kExitUsage;
  }
  const bool page_alone = page && options.output.empty() && !app.has("--format");
  int written = page_alone ? kExitOk : write_report(reports, job ? &job->report : nullptr, options);
  if (page) {
    if (const auto error = page->finish()) {
      say::error(kWho, error->message);
      written = kExitUnusable;
    }
  }
  return loaded < files.value().size() ? kExitUnusable : written;
}

int print_report(std::span<const std::string> files, ReportStyle style, const StackOptions& stacks,
                 const StepQuestion& steps, std::FILE* out) {
  if (style == ReportStyle::kNone) return kExitOk;
  const auto print = [out](const std::string& text) {
    return std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
  };
  if (style == ReportStyle::kShort) {
    if (const auto job = load_job(files, {stacks.user_code, steps, false}, stacks.names, kWho)) {
      if (!print(render_job(job->report, {columns_of_terminal(out), wants_colour(out)}))) return kExitUnusable;
      return job->unreadable > 0 ? kExitUnusable : kExitOk;
    }
  }
  const auto all = load_reports(files, {stacks.user_code, stacks.names, steps, false, {}});
  if (!all) return kExitUsage;
  const std::vector<Report>& reports = *all;
  const std::string text = style == ReportStyle::kShort
                               ? screens_of(reports, {columns_of_terminal(out), wants_colour(out)})
                               : text_of(reports, {columns_of_terminal(out), wants_colour(out), false});
  if (!print(text)) return kExitUnusable;
  return reports.size() == files.size() ? kExitOk : kExitUnusable;
}

}  // namespace synctrace::cli
