// SPDX-License-Identifier: Apache-2.0
#include "rollup/fleet_answer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <tuple>

#include "rollup/parquet_reader.h"
#include "rollup/tables.h"

namespace synctrace {
namespace {

using enum ColumnType;

std::int64_t integer(const Cell& cell) { return std::get<std::int64_t>(cell); }
std::uint64_t id(const Cell& cell) { return std::get<std::uint64_t>(cell); }
std::string_view text(const Cell& cell) { return std::get<std::string_view>(cell); }

// In a damaged file a number can have any value.
void add_to(std::int64_t& sum, std::int64_t more) {
  if (!__builtin_add_overflow(sum, more, &sum)) return;
  sum = more > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

template <class Map>
auto& row_of(Map& rows, std::string_view name) {
  auto found = rows.find(name);
  if (found == rows.end()) {
    found = rows.try_emplace(std::string(name)).first;
    found->second.name = name;
  }
  return found->second;
}

}  // namespace

std::optional<Error> FleetReader::add(std::string_view table, std::string_view job, std::string_view file) {
  if (table == "runs") return add_runs(file);
  if (table == "ranks") return add_ranks(job, file);
  if (table == "sites") return add_sites(file);
  return std::nullopt;
}

std::optional<Error> FleetReader::add_runs(std::string_view file) {
  constexpr std::array kColumns = {Column{"run", kUnsigned}, Column{"commit", kText},   Column{"host", kText},
                                   Column{"begin_ns"},       Column{"steps"},           Column{"irregular_steps"},
                                   Column{"late_count"},     Column{"others_waited_ns"}};
  return read_table(file, kColumns, [&](std::span<const Cell> row) {
    Run& run = runs_[id(row[0])];
    run.commit = text(row[1]);
    run.begin_ns = integer(row[3]);
    run.steps = std::max<std::int64_t>(integer(row[4]), 0);
    run.steps = std::max<std::int64_t>(run.steps - std::max<std::int64_t>(integer(row[5]), 0), 0);
    FleetHost& host = row_of(hosts_, text(row[2]));
    ++host.recordings;
    add_to(host.times_late, integer(row[6]));
    add_to(host.others_waited_ns, integer(row[7]));
  });
}

std::optional<Error> FleetReader::add_ranks(std::string_view job, std::string_view file) {
  constexpr std::array kColumns = {Column{"window_ns"}, Column{"idle_ns"}};
  FleetJob& sum = row_of(jobs_, job);
  ++sum.recordings;
  return read_table(file, kColumns, [&](std::span<const Cell> row) {
    add_to(sum.gpu_ns, integer(row[0]));
    add_to(sum.idle_ns, integer(row[1]));
  });
}

std::optional<Error> FleetReader::add_sites(std::string_view file) {
  constexpr std::array kColumns = {
      Column{"run", kUnsigned}, Column{"site", kUnsigned}, Column{"rule", kText}, Column{"name", kText},
      Column{"cause", kText},   Column{"file", kText},     Column{"line"},        Column{"function", kText},
      Column{"idle_ns"},        Column{"idle_in_steps_ns"}};
  return read_table(file, kColumns, [&](std::span<const Cell> row) {
    add_to(runs_[id(row[0])].idle_in_steps_ns, integer(row[9]));
    if (is_edge(text(row[4])) || integer(row[8]) <= 0) return;
    FleetLine& line = lines_[id(row[1])];
    if (line.recordings++ == 0) {
      line.site = id(row[1]);
      line.rule = text(row[2]).empty() ? text(row[3]) : text(row[2]);
      line.file = text(row[5]);
      line.line = integer(row[6]);
      line.function = text(row[7]);
    }
    add_to(line.idle_ns, integer(row[8]));
  });
}

FleetAnswer FleetReader::answer() const {
  FleetAnswer answer;
  answer.recordings = runs_.size();
  for (const auto& [site, line] : lines_) answer.lines.push_back(line);
  std::sort(answer.lines.begin(), answer.lines.end(), [](const FleetLine& a, const FleetLine& b) {
    return std::tie(b.idle_ns, a.site) < std::tie(a.idle_ns, b.site);
  });
  for (const auto& [name, job] : jobs_) {
    answer.jobs.push_back(job);
    add_to(answer.idle_ns, job.idle_ns);
    add_to(answer.gpu_ns, job.gpu_ns);
  }
  std::stable_sort(answer.jobs.begin(), answer.jobs.end(),
                   [](const FleetJob& a, const FleetJob& b) { return a.idle_ns > b.idle_ns; });
  for (const auto& [name, host] : hosts_) {
    if (host.others_waited_ns > 0) answer.hosts.push_back(host);
  }
  std::stable_sort(answer.hosts.begin(), answer.hosts.end(),
                   [](const FleetHost& a, const FleetHost& b) { return a.others_waited_ns > b.others_waited_ns; });
  struct Sums {
    FleetCommit row;
    std::int64_t steps = 0;
    Nanoseconds idle_ns = 0;
  };
  std::map<std::string_view, Sums> commits;
  for (const auto& [id, run] : runs_) {
    if (run.steps == 0) continue;
    Sums& sums = commits[run.commit];
    sums.row.name = run.commit;
    sums.row.since_ns = sums.row.recordings == 0 ? run.begin_ns : std::min(sums.row.since_ns, run.begin_ns);
    ++sums.row.recordings;
    add_to(sums.steps, run.steps);
    add_to(sums.idle_ns, run.idle_in_steps_ns);
  }
  for (auto& [name, sums] : commits) {
    sums.row.idle_ns_a_step = sums.idle_ns / sums.steps;
    answer.commits.push_back(std::move(sums.row));
  }
  std::stable_sort(answer.commits.begin(), answer.commits.end(),
                   [](const FleetCommit& a, const FleetCommit& b) { return a.since_ns < b.since_ns; });
  return answer;
}

}  // namespace synctrace
