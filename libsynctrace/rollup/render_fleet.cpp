// SPDX-License-Identifier: Apache-2.0
#include "rollup/render_fleet.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/format_text.h"
#include "base/json.h"
#include "base/quantity_text.h"
#include "base/shown_text.h"
#include "rollup/dataset.h"

namespace synctrace {
namespace {

constexpr std::size_t kRows = 10;

std::string hours_text(Nanoseconds ns) {
  constexpr double kHourNs = 3.6e12;
  return static_cast<double>(ns) >= kHourNs ? format_text("{:.1f} h", static_cast<double>(ns) / kHourNs)
                                            : duration_text(ns);
}

std::string name_or_dash(std::string_view name) { return name.empty() ? "-" : printable(name); }

std::string place_text(const FleetLine& line) {
  if (line.file.empty()) return line.line == 0 ? format_text("site {:016x}", line.site) : name_or_dash(line.function);
  const std::string place =
      line.line == 0 ? printable(line.file) : format_text("{}:{}", printable(line.file), line.line);
  return line.function.empty() ? place : place + " in " + printable(line.function);
}

template <class Row, class Function>
void add_table(std::string_view head, const std::vector<Row>& rows, std::string& text, Function line_of) {
  if (rows.empty()) return;
  append_text(text, "\n{}\n", head);
  for (std::size_t i = 0; i < std::min(kRows, rows.size()); ++i) append_text(text, "{}\n", line_of(rows[i]));
  if (rows.size() > kRows) append_text(text, "  and {} more\n", rows.size() - kRows);
}

template <class Rows, class Function>
Json array_of(const Rows& rows, Function function) {
  Json array = Json::array();
  for (const auto& row : rows) array.push_back(function(row));
  return array;
}

}  // namespace

std::string fleet_text(const FleetAnswer& answer) {
  std::string text =
      format_text("{} recordings, GPUs recorded for {}, idle for {} ({})\n", count_text(answer.recordings),
                  hours_text(answer.gpu_ns), hours_text(answer.idle_ns), share_text(answer.idle_ns, answer.gpu_ns));
  add_table("        GPUs idle  recordings  line", answer.lines, text, [](const FleetLine& line) {
    return format_text("  {:>15}  {:>10}  {} {}", hours_text(line.idle_ns), count_text(line.recordings),
                       name_or_dash(line.rule), place_text(line));
  });
  add_table("        GPUs idle    of their time  job", answer.jobs, text, [](const FleetJob& job) {
    return format_text("  {:>15}  {:>15}  {}", hours_text(job.idle_ns), share_text(job.idle_ns, job.gpu_ns),
                       name_or_dash(job.name));
  });
  add_table("    others waited  times late  host of ranks that others waited for", answer.hosts, text,
            [](const FleetHost& host) {
              return format_text("  {:>15}  {:>10}  {}", hours_text(host.others_waited_ns), host.times_late,
                                 name_or_dash(host.name));
            });
  const bool has_commits = std::any_of(answer.commits.begin(), answer.commits.end(),
                                       [](const FleetCommit& commit) { return !commit.name.empty(); });
  add_table("      idle a step  recordings  since       commit",
            has_commits ? answer.commits : std::vector<FleetCommit>(), text, [](const FleetCommit& commit) {
              return format_text("  {:>15}  {:>10}  {}  {}", duration_text(commit.idle_ns_a_step),
                                 count_text(commit.recordings), date_text(commit.since_ns), name_or_dash(commit.name));
            });
  return text;
}

std::string fleet_json(const FleetAnswer& answer) {
  const Json root = {{"schema_version", 1},
                     {"recordings", answer.recordings},
                     {"lines", array_of(answer.lines,
                                        [](const FleetLine& line) {
                                          return Json{{"site", line.site},
                                                      {"rule", line.rule},
                                                      {"file", line.file},
                                                      {"line", line.line},
                                                      {"function", line.function},
                                                      {"idle_ns", line.idle_ns},
                                                      {"recordings", line.recordings}};
                                        })},
                     {"jobs", array_of(answer.jobs,
                                       [](const FleetJob& job) {
                                         return Json{{"job", job.name},
                                                     {"idle_ns", job.idle_ns},
                                                     {"gpu_ns", job.gpu_ns},
                                                     {"recordings", job.recordings}};
                                       })},
                     {"hosts", array_of(answer.hosts,
                                        [](const FleetHost& host) {
                                          return Json{{"host", host.name},
                                                      {"others_waited_ns", host.others_waited_ns},
                                                      {"times_late", host.times_late},
                                                      {"recordings", host.recordings}};
                                        })},
                     {"commits", array_of(answer.commits, [](const FleetCommit& commit) {
                        return Json{{"commit", commit.name},
                                    {"since_ns", commit.since_ns},
                                    {"idle_ns_a_step", commit.idle_ns_a_step},
                                    {"recordings", commit.recordings}};
                      })}};
  return root.dump(2) + "\n";
}

}  // namespace synctrace
