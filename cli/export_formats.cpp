// SPDX-License-Identifier: Apache-2.0
#include "export_formats.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "exchange/chrome_trace.h"
#include "exchange/csv_tables.h"
#include "exchange/nsys_database.h"
#include "exchange/perfetto_trace.h"
#include "exchange/stack_formats.h"
#include "exit_status.h"
#include "findings/findings.h"
#include "format/trace_reader.h"
#include "messages.h"
#include "model/wall_clock.h"
#include "result_file.h"
#include "trace_files.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "synctrace export";

int fail(const std::string& message, int status = kExitUnusable) {
  say::error(kWho, message);
  return status;
}

// The earliest begin of the traces, from their heads alone; those that cannot be read do not count.
std::uint64_t start_of(const std::vector<std::string>& traces) {
  std::optional<std::uint64_t> earliest;
  for (const std::string& trace : traces) {
    const Result<format::TraceReader> reader = format::TraceReader::open(trace);
    if (!reader) continue;
    const std::uint64_t start = reader.value().header().start_realtime_ns;
    earliest = std::min(start, earliest.value_or(start));
  }
  return earliest.value_or(0);
}

ExportOptions options_of(const ExportRequest& request) {
  const std::string name =
      request.output == "-" ? trace_stem(request.traces.front()) : fs::path(request.output).filename().string();
  // All files of a job have the zero that its first rank's wall clock gives.
  const std::uint64_t start =
      start_of(request.job == nullptr ? request.traces : std::vector{request.job->ranks.front()});
  return {name, export_base_ns(start), request.traces.size() > 1, request.stacks};
}

std::optional<RankLane> lane_of(const JobFiles* job, const std::string& path) {
  if (job == nullptr) return std::nullopt;
  const auto rank = std::find(job->ranks.begin(), job->ranks.end(), path);
  if (rank == job->ranks.end()) return std::nullopt;
  RankLane lane = job->findings->lane(static_cast<std::uint32_t>(rank - job->ranks.begin()));
  if (!lane.clock.known)
    say::warn(kWho, rank_title(lane.label) +
                        " shares too few operations with the first rank: it is placed by its own wall clock");
  return lane;
}

// How many of the traces are in the result; the others were worded.
std::size_t add_traces(const ExportRequest& request, Exporter& exporter) {
  std::size_t added = 0;
  for (const std::string& path : request.traces) {
    const std::optional<Trace> trace = load_or_say(path, kWho);
    if (!trace) continue;
    const std::optional<RankLane> lane = lane_of(request.job, path);
    exporter.add(*trace, lane ? &*lane : nullptr);
    ++added;
  }
  return added;
}

template <class Format>
int run_stream(const ExportFormat&, const ExportRequest& request) {
  ResultFile file(request.output);
  Format result(options_of(request), [&](std::string_view piece) { file.write(piece); });
  const std::size_t added = add_traces(request, result);
  if (added == 0) return kExitUnusable;
  result.finish();
  if (const auto error = file.finish()) return fail(error->message);
  return added == request.traces.size() ? kExitOk : kExitUnusable;
}

// SQLite writes its files itself, and only files: one beside the result, until it is whole.
int run_database(const ExportFormat& format, const ExportRequest& request) {
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
    ExportOptions options = options_of(request);
    options.base_ns = static_cast<Nanoseconds>(std::min(start_of(request.traces), std::uint64_t{1} << 62));
    NsysDatabase result(options, temporary);
    added = add_traces(request, result);
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

int run_csv(const ExportFormat&, const ExportRequest& request) {
  if (request.output == "-")
    return fail("--format csv writes several files: give a folder or a file's name as --output.", kExitUsage);
  std::deque<ResultFile> files;
  std::vector<TextSink> sinks;
  for (const CsvTable table : kCsvTables) {
    ResultFile& file = files.emplace_back(csv_path(request, table));
    sinks.emplace_back([&file](std::string_view piece) { file.write(piece); });
    write_csv_head(table, request.stacks, sinks.back());
  }
  std::size_t added = 0;
  for (const std::string& path : request.traces) {
    const std::optional<Trace> trace = load_or_say(path, kWho);
    if (!trace) continue;
    for (std::size_t i = 0; i < kCsvTables.size(); ++i) write_csv_rows(kCsvTables[i], *trace, request.stacks, sinks[i]);
    ++added;
  }
  if (added == 0) return kExitUnusable;
  for (ResultFile& file : files) {
    if (const auto error = file.finish()) return fail(error->message);
  }
  return added == request.traces.size() ? kExitOk : kExitUnusable;
}

std::vector<StackProfile> profiles_of(const ExportRequest& request) {
  std::vector<StackProfile> profiles;
  for (const std::string& path : request.traces) {
    std::optional<Trace> trace = load_or_say(path, kWho);
    if (!trace) continue;
    request.names.add_to(*trace);
    const std::string_view rank = fact(*trace, "rank");
    const std::string name =
        rank.empty() ? "process " + std::to_string(trace->process_id) : "rank " + std::string(rank);
    profiles.push_back(Findings(*trace, {}).stack_profile(name));
  }
  return profiles;
}

int run_stacks(const ExportFormat& format, const ExportRequest& request) {
  const std::vector<StackProfile> profiles = profiles_of(request);
  if (profiles.empty()) return kExitUnusable;
  ResultFile file(request.output);
  const TextSink sink = [&](std::string_view piece) { file.write(piece); };
  if (format.name == "folded")
    write_folded(profiles, request.weight, sink);
  else if (format.name == "speedscope")
    write_speedscope(profiles, trace_stem(request.traces.front()), sink);
  else
    write_pprof(profiles, sink);
  if (const auto error = file.finish()) return fail(error->message);
  return profiles.size() == request.traces.size() ? kExitOk : kExitUnusable;
}

constexpr std::array kFormats = {
    ExportFormat{"chrome", ".json", "JSON that Perfetto's UI and Meta's HTA open", true, one_file,
                 run_stream<ChromeTrace>},
    ExportFormat{"perfetto", ".pftrace", "the same timeline as Perfetto's protobuf", true, one_file,
                 run_stream<PerfettoTrace>},
    ExportFormat{"nsys-sqlite", ".sqlite", "a database as Nsight Systems exports it", false, one_file, run_database},
    ExportFormat{"csv", ".csv", "tables of kernels, copies, calls and ranges", false, csv_files, run_csv},
    ExportFormat{"speedscope", ".speedscope.json", "idle time caused, by stack, for speedscope.app", false, one_file,
                 run_stacks},
    ExportFormat{"pprof", ".pb.gz", "the same for go tool pprof", false, one_file, run_stacks},
    ExportFormat{"folded", ".folded", "the same as lines for flamegraph.pl", false, one_file, run_stacks},
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
