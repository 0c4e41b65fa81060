// SPDX-License-Identifier: Apache-2.0
// The verb fleet: what a dataset of `rollup` says about many recordings.
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "asked/progress.h"
#include "base/regular_file.h"
#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "files/replaceable.h"
#include "files/way_out.h"
#include "files/whole_file.h"
#include "files/written.h"
#include "messages.h"
#include "rollup/dataset.h"
#include "rollup/render_fleet.h"
#include "tables/dataset_files.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "synctrace fleet report";

int fail(const std::string& message, int status = kExitUnusable) {
  say::error(kWho, message);
  return status;
}

std::string job_of(const std::string& file) {
  const fs::path folders = fs::path(file).parent_path().parent_path().parent_path();
  constexpr std::string_view kLead = "job=";
  const std::string name = folders.filename().string();
  return name.starts_with(kLead) ? text_of_folder_value(std::string_view(name).substr(kLead.size())) : std::string();
}

int report(const std::string& dataset, const std::string& format, const std::string& output) {
  FleetReader reader;
  bool all = true;
  std::size_t count = 0;
  for (const std::string_view table : {"runs", "ranks", "sites"}) {
    const auto [files, unreadable] = files_of_table(dataset, table);
    count += files.size();
    for (const std::string& sentence : unreadable) say::error(kWho, sentence);
    all = all && unreadable.empty();
    Progress progress(true, files.size());
    for (const std::string& file : files) {
      progress.next("reading table", file);
      const Result<RegularFile> opened = RegularFile::open(file, kMostTableBytes);
      const auto error = opened ? reader.add(table, job_of(file), opened.value().content()) : opened.error();
      if (!error) continue;
      say::error(kWho, opened ? file + ": " + error->message + "." : error->message);
      all = false;
    }
  }
  if (count == 0) return fail(no_tables_in(dataset), kExitNothing);
  const FleetAnswer answer = reader.answer();
  if (const auto error = write_whole_file(output, format == "json" ? fleet_json(answer) : fleet_text(answer)))
    return fail(error->message);
  say_written(kWho, {output});
  return all ? kExitOk : kExitUnusable;
}

}  // namespace

int cmd_fleet(int argc, char** argv) {
  const CommandLine app("Says what the tables of many recordings say together.", "synctrace fleet");
  const CommandLine verb = app.add_verb("report", "show a dataset's lines, jobs and hosts with the most idle GPU time");
  std::string dataset;
  std::string format = "text";
  std::string output;
  verb.add("DATASET", dataset, "the folder that synctrace rollup writes to", "").required();
  verb.add("--format", format, "text (default) or json", "FORMAT").one_of({"text", "json"});
  verb.add("-o,--output", output, "write to FILE instead of stdout", "FILE");
  bool force_overwrite = false;
  declare_force_overwrite(verb, force_overwrite);
  if (const auto end = app.parse(argc, argv)) return *end;
  if (const auto wrong = refuse_to_replace({output, "fleet " + format, "--output"}, force_overwrite))
    return fail(wrong->message, kExitUsage);
  return report(dataset, format, output);
}

}  // namespace synctrace::cli
