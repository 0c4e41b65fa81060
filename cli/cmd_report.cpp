// SPDX-License-Identifier: Apache-2.0
// The verb report, and the report that `run` prints at the end.
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "findings/findings.h"
#include "messages.h"
#include "page_file.h"
#include "progress.h"
#include "render/render_csv.h"
#include "render/render_json.h"
#include "render/render_markdown.h"
#include "render/render_text.h"
#include "report_entry.h"
#include "standard_streams.h"
#include "trace_files.h"
#include "whole_file.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace report";

struct Options {
  std::vector<std::string> paths;
  std::string format = "text";
  std::string output;
  std::string step_range;
  std::string what_if;
  std::string assume;
  bool all = false;
  bool show_stacks = false;
  std::string page;
  std::size_t most_page_bytes = kDefaultPageBytes;
  StackOptions stacks;
};

struct Asked {
  UserCode user_code;
  AskedNames names;
  std::string step_range;
  bool all = false;
  WhatIfQuestion question;
};

// Traces are loaded one after the other, so that memory holds one of them at a time. Those that cannot be read are
// worded on stderr and left out.
std::vector<Report> load_reports(std::span<const std::string> files, const Asked& asked, PageFile* page = nullptr) {
  std::vector<Report> reports;
  Progress progress(true, files.size());
  for (const std::string& file : files) {
    progress.next("reading trace", file);
    std::optional<Joins> joins;
    std::optional<Trace> trace = load_or_say(file, kWho, &joins);
    if (!trace) continue;
    asked.names.add_to(*trace);
    progress.again("explaining idle time, trace", file);
    const Findings findings(*trace, {asked.user_code, asked.step_range, page != nullptr}, std::move(joins));
    progress.again("predicting savings, trace", file);
    reports.push_back(findings.report(asked.all, asked.question));
    if (page != nullptr) {
      progress.again("drawing the timeline, trace", file);
      page->add(reports.back(), *findings.timeline(reports.back()));
    }
    if (!asked.step_range.empty() && reports.back().steps.figures.count == 0) {
      say::warn(kWho, "no NVTX range '" + asked.step_range +
                          "' comes three times or more, without overlap, on a thread of " + file +
                          "; its report is without steps");
    }
  }
  return reports;
}

std::string text_of(const std::vector<Report>& reports, const TextOptions& options) {
  std::string text = reports.size() > 1 ? render_total(reports) + "\n" : std::string();
  for (std::size_t i = 0; i < reports.size(); ++i) text += (i > 0 ? "\n" : "") + render_text(reports[i], options);
  return text;
}

void add_options(const CommandLine& app, Options& options) {
  app.add("TRACE", options.paths, "trace files, or folders of them; unfinished .partial files are fine", "").required();
  app.add("--format", options.format, "text (default), json, md or csv", "FORMAT")
      .one_of({"text", "json", "md", "csv"});
  app.add("--steps", options.step_range, "the NVTX range that is one step, numbers in its name left out", "NAME");
  app.add("--what-if", options.what_if, "fixes to try together: FIX@FILE:LINE,... (FIX: fix, or a name as in JSON)",
          "FIXES");
  app.add("--assume", options.assume, "pinned, no-input-wait or graph:RANGE; several separated by commas", "WHAT");
  app.add_flag("--all", options.all, "count calls outside the recorded windows too");
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

std::string rendered(const std::vector<Report>& reports, const Options& options) {
  if (options.format == "json") return render_json(reports);
  if (options.format == "md") return render_markdown(reports);
  if (options.format == "csv") return render_csv(reports);
  const bool to_stdout = options.output.empty() || options.output == "-";
  return text_of(reports, {TextLength::kFull, to_stdout && wants_colour(stdout), options.show_stacks});
}

int write_report(const std::vector<Report>& reports, const Options& options) {
  if (const auto error = write_whole_file(options.output, rendered(reports, options))) {
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
  const std::vector<Report> reports = load_reports(
      files.value(), {options.stacks.user_code, options.stacks.names, options.step_range, options.all, question},
      page ? &*page : nullptr);
  if (reports.empty()) return kExitUnusable;
  const bool page_alone = page && options.output.empty() && !app.has("--format");
  int written = page_alone ? kExitOk : write_report(reports, options);
  if (page) {
    if (const auto error = page->finish()) {
      say::error(kWho, error->message);
      written = kExitUnusable;
    }
  }
  return reports.size() < files.value().size() ? kExitUnusable : written;
}

int print_report(std::span<const std::string> files, ReportStyle style, const StackOptions& stacks, std::FILE* out) {
  if (style == ReportStyle::kNone) return kExitOk;
  const std::vector<Report> reports = load_reports(files, {stacks.user_code, stacks.names, {}, false, {}});
  const TextLength length = style == ReportStyle::kShort ? TextLength::kShort : TextLength::kFull;
  const std::string text = text_of(reports, {length, wants_colour(out), false});
  if (std::fwrite(text.data(), 1, text.size(), out) != text.size() || std::fflush(out) != 0) return kExitUnusable;
  return reports.size() == files.size() ? kExitOk : kExitUnusable;
}

}  // namespace synctrace::cli
