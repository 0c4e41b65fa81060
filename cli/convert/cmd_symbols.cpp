// SPDX-License-Identifier: Apache-2.0
// The verb symbols: stores names and source text in traces that were recorded without `run`.
#include <string>
#include <vector>

#include "asked/asked_names.h"
#include "asked/stack_options.h"
#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "files/way_out.h"
#include "messages.h"

namespace synctrace::cli {

int cmd_symbols(int argc, char** argv) {
  constexpr const char* kWho = "synctrace symbols";
  const CommandLine app("Stores the names and the source text of a trace's stacks in the trace.", kWho);
  std::vector<std::string> paths;
  AskedNames options;
  std::vector<std::string> source_roots;
  bool own = false;
  bool quiet = false;
  bool verbose = false;
  app.add("TRACE", paths, "traces that were closed by their process", "").required();
  app.add_flag("--debuginfod", options.how.debuginfod, "ask the servers of DEBUGINFOD_URLS for debugging information");
  app.add_flag("--own", own, "you recorded the traces, on this machine: read whatever file they name");
  declare_source_options(app, source_roots);
  const CommandOption silent = app.add_flag("-q,--quiet", quiet, "print nothing but errors");
  app.add_flag("-v,--verbose", verbose, "list the files in which no names were found").excludes(silent);
  if (const auto end = app.parse(argc, argv)) return *end;
  set_verbosity(verbose ? Verbosity::kDetails : quiet ? Verbosity::kWarnings : Verbosity::kNotes);
  options.progress = !quiet;
  if (own) options.how.roots = SourceRoots::everywhere();
  if (const auto wrong = take_source_roots(source_roots, options.how.roots)) {
    say::error(kWho, *wrong);
    return kExitUsage;
  }
  int status = kExitOk;
  for (const std::string& path : paths) {
    const Result<NamesStored> done = options.store_in(path);
    if (!done) {
      say::error(kWho, done.error().message + (is_recording(path) ? "" : way_out(path)));
      status = kExitUnusable;
    } else if (done.value() != NamesStored::kStored) {
      say::info(kWho, path + (done.value() == NamesStored::kAlready ? ": has its names already." : ": has no stacks."));
    }
  }
  return status;
}

}  // namespace synctrace::cli
