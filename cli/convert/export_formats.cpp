// SPDX-License-Identifier: Apache-2.0
#include "convert/export_formats.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>

#include "exchange/chrome_trace.h"
#include "exchange/csv_tables.h"
#include "exchange/nsys_database.h"
#include "exchange/perfetto_trace.h"
#include "exchange/stack_formats.h"
#include "exit_status.h"
#include "files/result_file.h"
#include "files/trace_files.h"
#include "messages.h"
#include "model/wall_clock.h"
#include "recordings/answers.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "synctrace export";

int fail(const std::string& message, int status = kExitUnusable) {
  say::error(kWho, message);
  return status;
}

ExportOptions options_of(const ExportRequest& request, Recordings& recordings) {
  const std::string name = request.output == "-" ? trace_stem(recordings.path(request.traces.front()))
                                                 : fs::path(request.output).filename().string();
  // All files of a job have the zero that its first rank's wall clock gives.
  const std::uint64_t start =
      recordings.earliest_start(recordings.is_job() ? std::vector{recordings.file_of(0)} : request.traces);
  return {name, export_base_ns(start), request.traces.size() > 1, request.stacks};
}

std::optional<RankLane> lane_of(const Recordings& recordings, std::size_t file) {
  const std::optional<std::uint32_t> rank = recordings.rank_of(file);
  if (!rank) return std::nullopt;
  RankLane lane = recordings.job_findings().lane(*rank);
  if (!lane.clock.known)
    say::warn(kWho, rank_title(lane.label) +
                        " shares too few operations with the first rank: it is placed by its own wall clock");
  return lane;
}

// Gives each trace to `add`. How many there were; the others were worded.
std::size_t add_traces(const ExportRequest& request, Recordings& recordings,
                       const std::function<void(OpenRecording&)>& add) {
  std::size_t added = 0;
  Visit visit;
  visit.files = request.traces;
  visit.examines = false;
  visit.see = [&](OpenRecording& one) {
    add(one);
    ++added;
    return true;
  };
  recordings.visit(visit);
  return added;
}

std::size_t add_traces(const ExportRequest& request, Recordings& recordings, Exporter& exporter) {
  return add_traces(request, recordings, [&](OpenRecording& one) {
    const std::optional<RankLane> lane = lane_of(recordings, one.file());
    exporter.add(one.trace(), lane ? &*lane : nullptr);
  });
}

template <class Format>
int run_stream(const ExportFormat&, const ExportRequest& request, Recordings& recordings) {
  ResultFile file(request.output);
  Format result(options_of(request, recordings), [&](std::string_view piece) { file.write(piece); });
  const std::size_t added = add_traces(request, recordings, result);
  if (added == 0) return kExitUnusable;
  result.finish();
  if (const auto error = file.finish()) return fail(error->message);
  return added == request.traces.size() ? kExitOk : kExitUnusable;
}

// SQLite writes its files itself, and only files: one beside the result, until it is whole.
int run_database(const ExportFormat& format, const ExportRequest& request, Recordings& recordings) {
  std::error_code failed;
  const fs::file_status there = fs::status(request.output, failed);
  if (request.output == "-" || (fs::exists(there) && !fs::is_regular_file(there))) {
    return fail("--format " + std::string(format.name) + " needs a file as --output.", kExitUsage);
  }
  const fs::path target =
      fs::is_symlink(request.output, failed) ? fs::weakly_canonical(request.output, failed) : fs::path(request.output);
  const std::string temporary = make_temporary(target.string());
  if (temporary.empty()) return fail("cannot write " + request.output + ": " + std::strerror(errno) + ".");
  std::size_t added = 0;
  std::optional<Error> error;
  {
    ExportOptions options = options_of(request, recordings);
    options.base_ns =
        static_cast<Nanoseconds>(std::min(recordings.earliest_start(request.traces), std::uint64_t{1} << 62));
    NsysDatabase result(options, temporary);
    added = add_traces(request, recordings, result);
    error = result.finish();
  }
  if (added > 0 && !error) {
    fs::rename(temporary, target, failed);
    if (failed) error = Error{failed.message()};
  }
  if (added == 0 || error) fs::remove(temporary, failed);
  if (error) return fail("cannot write " + request.output + ": " + error->message + ".");
  return added == request.traces.size() ? kExitOk : kExitUnusable;
}

std::vector<std::string> one_file(const ExportRequest& request) { return {request.output}; }

std::string csv_path(const ExportRequest& request, CsvTable table) {
  const std::string& path = request.output;
  const std::string stem = path.ends_with(".csv") ? path.substr(0, path.size() - 4) : path;
  return stem + "." + std::string(kCsvTableNames[static_cast<std::size_t>(table)]) + ".csv";
}

constexpr std::array kCsvTables = {CsvTable::kKernels, CsvTable::kCopies, CsvTable::kCalls, CsvTable::kRanges};

std::vector<std::string> csv_files(const ExportRequest& request) {
  std::vector<std::string> files;
  for (const CsvTable table : kCsvTables) files.push_back(csv_path(request, table));
  return files;
}

int run_csv(const ExportFormat&, const ExportRequest& request, Recordings& recordings) {
  if (request.output == "-")
    return fail("--format csv writes several files: give a folder or a file's name as --output.", kExitUsage);
  std::deque<ResultFile> files;
  std::vector<TextSink> sinks;
  for (const CsvTable table : kCsvTables) {
    ResultFile& file = files.emplace_back(csv_path(request, table));
    sinks.emplace_back([&file](std::string_view piece) { file.write(piece); });
    write_csv_head(table, request.stacks, sinks.back());
  }
  const std::size_t added = add_traces(request, recordings, [&](OpenRecording& one) {
    for (std::size_t i = 0; i < kCsvTables.size(); ++i)
      write_csv_rows(kCsvTables[i], one.trace(), request.stacks, sinks[i]);
  });
  if (added == 0) return kExitUnusable;
  for (ResultFile& file : files) {
    if (const auto error = file.finish()) return fail(error->message);
  }
  return added == request.traces.size() ? kExitOk : kExitUnusable;
}

int run_stacks(const ExportFormat& format, const ExportRequest& request, Recordings& recordings) {
  const std::vector<StackProfile> profiles = stack_profiles(recordings, request.traces);
  if (profiles.empty()) return kExitUnusable;
  ResultFile file(request.output);
  const TextSink sink = [&](std::string_view piece) { file.write(piece); };
  if (format.name == "folded")
    write_folded(profiles, request.weight, sink);
  else if (format.name == "speedscope")
    write_speedscope(profiles, trace_stem(recordings.path(request.traces.front())), sink);
  else
    write_pprof(profiles, sink);
  if (const auto error = file.finish()) return fail(error->message);
  return profiles.size() == request.traces.size() ? kExitOk : kExitUnusable;
}

constexpr std::array kFormats = {
    ExportFormat{"chrome", ".json", "JSON that Perfetto's UI and Meta's HTA open", true, false, one_file,
                 run_stream<ChromeTrace>},
    ExportFormat{"perfetto", ".pftrace", "the same timeline as Perfetto's protobuf", true, false, one_file,
                 run_stream<PerfettoTrace>},
    ExportFormat{"nsys-sqlite", ".sqlite", "a database as Nsight Systems exports it", false, false, one_file,
                 run_database},
    ExportFormat{"csv", ".csv", "tables of kernels, copies, calls and ranges", false, false, csv_files, run_csv},
    ExportFormat{"speedscope", ".speedscope.json", "idle time caused, by stack, for speedscope.app", false, true,
                 one_file, run_stacks},
    ExportFormat{"pprof", ".pb.gz", "the same for go tool pprof", false, true, one_file, run_stacks},
    ExportFormat{"folded", ".folded", "the same as lines for flamegraph.pl", false, true, one_file, run_stacks},
};

}  // namespace

std::span<const ExportFormat> export_formats() noexcept { return kFormats; }

const ExportFormat* find_export_format(std::string_view name) noexcept {
  const auto* const found =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const ExportFormat& format) { return format.name == name; });
  return found == kFormats.end() ? nullptr : found;
}

const ExportFormat* export_format_of_file(std::string_view name) noexcept {
  const ExportFormat* longest = nullptr;
  for (const ExportFormat& format : kFormats) {
    const bool fits = name.size() > format.ending.size() && name.ends_with(format.ending);
    if (fits && (longest == nullptr || format.ending.size() > longest->ending.size())) longest = &format;
  }
  return longest;
}

}  // namespace synctrace::cli
