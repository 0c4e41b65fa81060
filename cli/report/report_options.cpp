// SPDX-License-Identifier: Apache-2.0
#include "report/report_options.h"

#include <string_view>

#include "asked/step_options.h"
#include "files/replaceable.h"
#include "render/render_text.h"
#include "report/page_file.h"

namespace synctrace::cli {

void declare_report_options(const CommandLine& app, ReportOptions& options) {
  app.add("TRACE", options.paths, "trace files, or folders of them; unfinished .partial files are fine", "").required();
  app.add("--format", options.format, "text (default), json, md, csv or agent", "FORMAT")
      .one_of({"text", "json", "md", "csv", "agent"}, {{"html", "a page for a browser is written by --html FILE."}});
  const CommandOption range = declare_step_range(app, "--steps", options.steps.range);
  declare_step_line(app, options.steps.line).excludes(range);
  declare_phase(app, options.phase);
  app.add("--what-if", options.what_if, "fixes to try together: FIX@FILE:LINE,... (FIX: fix, or a name as in JSON)",
          "FIXES");
  app.add("--assume", options.assume, "pinned, no-input-wait or graph:RANGE; several separated by commas", "WHAT");
  app.add_flag("--full", options.full, "show all that is known, not only the first screen");
  std::string names;
  for (const std::string_view name : kTextTables) names += (names.empty() ? "" : ", ") + std::string(name);
  app.add("--table", options.table, "show one table of the full text: " + names, "NAME")
      .one_of({kTextTables.begin(), kTextTables.end()});
  app.add_flag("--changes", options.only_changes, "with --format json: only what to change, in at most 5 kB");
  app.add("--rank", options.rank, "show this rank, with what all ranks tell about it", "RANK");
  app.add_flag("--outside-windows", options.all, "count calls outside the recorded windows too");
  app.add_flag("--stacks", options.show_stacks, "print the stack of each row; JSON always has it");
  declare_code_options(app, options.stacks);
  declare_name_options(app, options.stacks);
  declare_source_options(app, options.stacks.source_roots);
  app.add("-o,--output", options.output, "write the report to FILE instead of stdout", "FILE");
  const CommandOption page =
      app.add("--html", options.page,
              "write a page for a browser, with a timeline; text is then printed only with --format or -o", "FILE");
  app.add_size("--max-html-size", options.most_page_bytes, kFewestPageBytes, kMostPageBytes,
               "the largest size of that page, 300k or more (default 5M: 5 MiB)", "SIZE")
      .needs(page);
  declare_force_overwrite(app, options.force_overwrite);
}

// Nothing that was asked for is left out without a word.
std::optional<std::string> settle_report_options(ReportOptions& options) {
  const std::string format = "--format=" + options.format;
  const std::string asked = !options.what_if.empty() ? "--what-if" : !options.assume.empty() ? "--assume" : "";
  const bool is_text = options.format == "text";
  if (!asked.empty() && !options.table.empty())
    return asked + " is answered in the full text, and --table shows one table of it; choose one of them.";
  if (!asked.empty() && !is_text && options.format != "json")
    return asked + " is answered in text and in JSON; choose one of them instead of " + format + ".";
  if (!options.table.empty() && !is_text) return "--table shows a table of the text; leave out " + format + ".";
  if (options.show_stacks && !is_text && options.format != "json")
    return "--stacks is for text, and JSON always has them; choose one of them instead of " + format + ".";
  if (options.only_changes && options.format != "json")
    return "--changes is for --format json, and " + format + " was asked for; the same as text is --format agent.";
  if (options.only_changes && !asked.empty()) return asked + " is answered in the full JSON; leave out --changes.";
  options.full = options.full || !asked.empty();
  return std::nullopt;
}

}  // namespace synctrace::cli
