// SPDX-License-Identifier: Apache-2.0
#include "rollup/prom_gauges.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format_text.h"
#include "base/shown_text.h"
#include "rollup/dataset.h"
#include "rollup/tables.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostJobs = 16;
constexpr std::size_t kMostLines = 10;  // for a job
constexpr std::size_t kMostRules = 40;  // likewise; there are fewer
constexpr std::string_view kOtherJobs = "others";

std::string label(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

// Exact, as nanoseconds are integers.
std::string seconds(Nanoseconds ns) {
  constexpr Nanoseconds kSecondNs = 1'000'000'000;
  const std::string_view sign = ns < 0 ? "-" : "";
  return format_text("{}{}.{:09}", sign, std::abs(ns / kSecondNs), std::abs(ns % kSecondNs));
}

template <class Map, class Less>
auto first_of(const Map& map, std::size_t most, Less less) {
  std::vector<typename Map::const_iterator> found;
  for (auto one = map.begin(); one != map.end(); ++one) found.push_back(one);
  std::stable_sort(found.begin(), found.end(), less);
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace

void PromGauges::Job::add(const Job& other) {
  recordings += other.recordings;
  end_ns = std::max(end_ns, other.end_ns);
  for (const auto member : {&Job::gpu_ns, &Job::idle_ns, &Job::copy_only_ns, &Job::waiting_ns, &Job::others_waited_ns,
                            &Job::host_waits_ns, &Job::idle_in_steps_ns})
    this->*member = add_saturated(this->*member, other.*member);
  waits += other.waits;
  steps += other.steps;
  for (const auto& [rule, ns] : other.idle_by_rule) idle_by_rule[rule] = add_saturated(idle_by_rule[rule], ns);
  for (const auto& [site, line] : other.lines) {
    Line& sum = lines.try_emplace(site, Line{line.file, line.function, line.number, 0}).first->second;
    sum.idle_ns = add_saturated(sum.idle_ns, line.idle_ns);
  }
}

void PromGauges::add(const RolledRun& run, std::string_view job) {
  const Report& report = run.report;
  Job one;
  one.recordings = 1;
  one.end_ns = add_saturated(run.history.begin_ns, report.recorded_ns);
  for (const DeviceReport& device : report.devices) {
    one.gpu_ns = add_saturated(one.gpu_ns, device.state.window_ns);
    one.idle_ns = add_saturated(one.idle_ns, device.state.idle_ns);
    one.copy_only_ns = add_saturated(one.copy_only_ns, device.state.copy_only_ns);
  }
  if (run.job != nullptr) {
    const JobRank& rank = run.job->ranks[run.rank];
    for (const JobDevice& device : rank.devices) one.waiting_ns = add_saturated(one.waiting_ns, device.all.waiting_ns);
    one.others_waited_ns = rank.others_waited_ns;
  }
  const StepFigures& steps = report.steps.figures;
  one.steps = steps.count - std::min(steps.count, steps.irregular);
  for (const HistorySite& site : run.history.sites) {
    one.waits += site.figures.waited;
    one.host_waits_ns = add_saturated(one.host_waits_ns, site.figures.host_blocked_ns);
    one.idle_in_steps_ns = add_saturated(one.idle_in_steps_ns, site.idle_in_steps_ns);
    if (site.figures.idle_ns <= 0) continue;
    Nanoseconds& of_rule = one.idle_by_rule[site.rule.empty() ? site.name : site.rule];
    of_rule = add_saturated(of_rule, site.figures.idle_ns);
    if (is_edge(site.cause)) continue;
    Line line{"", "", 0, site.figures.idle_ns};
    if (run.with_source) line = {site.fingerprint.file, site.fingerprint.function, site.line, site.figures.idle_ns};
    one.lines.emplace(site.fingerprint.number(), std::move(line));
  }
  jobs_[std::string(job.empty() ? kNoJobName : job)].add(one);
}

std::map<std::string, PromGauges::Job> PromGauges::shown_jobs() const {
  std::map<std::string, Job> shown;
  std::size_t number = 0;
  for (const auto& one :
       first_of(jobs_, jobs_.size(), [](auto a, auto b) { return a->second.gpu_ns > b->second.gpu_ns; }))
    shown[++number <= kMostJobs ? one->first : std::string(kOtherJobs)].add(one->second);
  return shown;
}

std::string PromGauges::text() const {
  const std::map<std::string, Job> jobs = shown_jobs();
  std::string text;
  const auto add_gauge = [&](std::string_view name, std::string_view help, auto value_of) {
    append_text(text, "# HELP synctrace_{} {}\n# TYPE synctrace_{} gauge\n", name, help, name);
    for (const auto& [job, sums] : jobs)
      append_text(text, "synctrace_{}{{job=\"{}\"}} {}\n", name, label(job), value_of(sums));
  };
  add_gauge("recordings", "Recordings of the last rollup.",
            [](const Job& job) { return std::to_string(job.recordings); });
  add_gauge("recording_end_timestamp_seconds", "When the last of them ended.",
            [](const Job& job) { return seconds(job.end_ns); });
  add_gauge("gpu_recorded_seconds", "Time of all GPUs.", [](const Job& job) { return seconds(job.gpu_ns); });
  add_gauge("gpu_idle_seconds", "Of it, idle.", [](const Job& job) { return seconds(job.idle_ns); });
  add_gauge("gpu_idle_ratio", "Idle time over recorded time.", [](const Job& job) {
    return format_text("{:.6f}",
                       job.gpu_ns > 0 ? static_cast<double>(job.idle_ns) / static_cast<double>(job.gpu_ns) : 0.0);
  });
  add_gauge("gpu_copy_only_seconds", "Transfers and nothing else.",
            [](const Job& job) { return seconds(job.copy_only_ns); });
  add_gauge("gpu_waiting_for_ranks_seconds", "In collectives, waiting for another rank.",
            [](const Job& job) { return seconds(job.waiting_ns); });
  add_gauge("others_waited_seconds", "That ranks of the job waited for each other.",
            [](const Job& job) { return seconds(job.others_waited_ns); });
  add_gauge("host_blocked_seconds", "Host threads waiting for a GPU.",
            [](const Job& job) { return seconds(job.host_waits_ns); });
  add_gauge("host_waits", "How often they waited.", [](const Job& job) { return std::to_string(job.waits); });
  add_gauge("steps", "Ordinary steps.", [](const Job& job) { return std::to_string(job.steps); });
  add_gauge("step_idle_seconds", "Idle time of an ordinary step.", [](const Job& job) {
    return seconds(job.steps == 0 ? 0 : job.idle_in_steps_ns / static_cast<Nanoseconds>(job.steps));
  });
  text +=
      "# HELP synctrace_idle_by_rule_seconds Idle time by rule or cause.\n# TYPE synctrace_idle_by_rule_seconds "
      "gauge\n";
  for (const auto& [job, sums] : jobs) {
    for (const auto& one :
         first_of(sums.idle_by_rule, kMostRules, [](auto a, auto b) { return a->second > b->second; }))
      append_text(text, "synctrace_idle_by_rule_seconds{{job=\"{}\",rule=\"{}\"}} {}\n", label(job), label(one->first),
                  seconds(one->second));
  }
  append_text(
      text,
      "# HELP synctrace_line_idle_seconds Idle time by line, the first {}.\n# TYPE synctrace_line_idle_seconds gauge\n",
      kMostLines);
  for (const auto& [job, sums] : jobs) {
    for (const auto& one :
         first_of(sums.lines, kMostLines, [](auto a, auto b) { return a->second.idle_ns > b->second.idle_ns; }))
      append_text(
          text,
          "synctrace_line_idle_seconds{{job=\"{}\",site=\"{:016x}\",file=\"{}\",line=\"{}\",function=\"{}\"}} {}\n",
          label(job), one->first, label(one->second.file), one->second.number, label(one->second.function),
          seconds(one->second.idle_ns));
  }
  return text;
}

}  // namespace synctrace
