// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/remedy_details.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/format_text.h"
#include "base/shares.h"

namespace synctrace {
namespace {

constexpr std::uint64_t kFewestOfLine = 10;
constexpr std::size_t kMostLines = 3;
constexpr double kMostWorkers = 64;
constexpr double kMostOccupied = 0.75;  // leaves as much room as loader_advice does
constexpr double kOneMoreWorker = 1.2;  // fewer times as many workers are one more, of the few there are
constexpr std::size_t kFewWorkers = 8;

// The line before which the stretch of host code ends, where that is a later one of the same file; else 0.
std::uint32_t end_of_stretch(const Report& report, const ShownFix& fix) {
  const IdleCause* dearest = nullptr;
  for (const DeviceReport& device : report.devices) {
    for (const IdleCause& cause : device.causes) {
      const bool is_range = cause.fix_key == fix.key && cause.until.known() && cause.until.file == cause.where.file &&
                            cause.where.line != 0 && cause.until.line > cause.where.line;
      if (is_range && (dearest == nullptr || cause.idle_ns > dearest->idle_ns)) dearest = &cause;
    }
  }
  return dearest == nullptr ? 0 : dearest->until.line;
}

// "busiest lines: 301 (61 %), 317 (20 %)"; empty where samples say too little.
std::string busiest_lines(const Report& report, const ShownFix& fix) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> lines;
  std::uint64_t all = 0;
  for (const SampledLine& sample : report.samples) {
    const SourceLine& where = sample.where;
    const bool is_inside = fix.until_line != 0 ? where.line >= fix.where.line && where.line <= fix.until_line
                                               : where.function == fix.where.function;
    if (sample.state != "running" || where.line == 0 || where.file != fix.where.file || !is_inside) continue;
    const auto known =
        std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.second == where.line; });
    if (known == lines.end())
      lines.emplace_back(sample.count, where.line);
    else
      known->first += sample.count;
    all += sample.count;
  }
  const bool is_known = lines.size() == 1 && lines.front().second == fix.where.line;  // the line itself
  if (all < kFewestOfLine || is_known) return {};
  std::sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string words = "busiest lines there:";
  for (std::size_t i = 0; i < std::min(kMostLines, lines.size()); ++i) {
    const double share = 100.0 * static_cast<double>(lines[i].first) / static_cast<double>(all);
    words += format_text("{} {} ({:.0f} %)", i == 0 ? "" : ",", lines[i].second, share);
  }
  return words;
}

// Whether a fix waits in that function of PyTorch's DataLoader.
bool waits_in(const Remedy& remedy, std::string_view loader) {
  return std::any_of(remedy.fixes.begin(), remedy.fixes.end(), [&](const ShownFix& fix) {
    return std::any_of(fix.where.stack.begin(), fix.where.stack.end(),
                       [&](const ShownFrame& each) { return each.frame.function.find(loader) != std::string::npos; });
  });
}

// Where nothing is known of the workers themselves, the times of the steps still tell how many a loader without any
// needs: 0 where it has some.
std::size_t workers_by_times(const SavingsReport& savings, std::size_t processors, const Remedy& remedy) {
  const Nanoseconds rest_ns = savings.base_ns - remedy.alone.ns;
  if (rest_ns <= 0 || remedy.alone.ns <= 0 || !waits_in(remedy, "_SingleProcessDataLoaderIter")) return 0;
  const double wait = static_cast<double>(remedy.alone.ns) / static_cast<double>(rest_ns);
  const double most = processors > 1 ? static_cast<double>(processors - 1) : kMostWorkers;
  return static_cast<std::size_t>(std::clamp(std::ceil(wait / kMostOccupied), 1.0, most));
}

// A library's own name for the number of workers, "dataloader_num_workers=N", gets the number; without one, words.
bool fill_workers(std::size_t workers, Remedy& remedy) {
  for (std::string& text : remedy.to_type) {
    const std::size_t at = text.find("=N");
    if (at == std::string::npos) continue;
    text =
        workers > 0 ? text.replace(at + 1, 1, std::to_string(workers)) : "more workers than now: " + text.erase(at, 2);
    return true;
  }
  return false;
}

// The first worker makes each batch a message between processes, which the replay does not know. Workers in place of
// none brought 0.73 and 0.80 of what it said (PyG, 8 and 4 workers, H200: 4 ms a batch); fewer tensors pay less.
void take_off_transport(SavingsReport& savings, Remedy& remedy) {
  constexpr Nanoseconds kOfABatchNs = 2'500'000;
  const auto steps = static_cast<Nanoseconds>(std::max<std::size_t>(1, savings.steps));
  const auto part_of_message = [&](Nanoseconds whole_ns, std::int32_t parts) {
    const Nanoseconds most_ns = steps > kLatestTime / (kOfABatchNs * parts) ? kLatestTime : kOfABatchNs * parts * steps;
    return std::min(percent(15 * parts).of(whole_ns), most_ns);
  };
  const Nanoseconds less_ns = part_of_message(remedy.marginal.ns, 1);
  for (Interval* saving : {&remedy.alone, &remedy.marginal}) {
    saving->lo_ns = std::max<Nanoseconds>(0, std::min(saving->lo_ns, saving->ns - part_of_message(saving->ns, 2)));
    saving->ns -= part_of_message(saving->ns, 1);
  }
  remedy.beside_replay.lo_ns -= less_ns;
  remedy.beside_replay.ns -= less_ns;
  bool is_behind = false;
  for (Remedy& each : savings.remedies) {
    is_behind = is_behind || &each == &remedy;
    if (!is_behind) continue;
    each.cumulative.ns -= less_ns;
    each.cumulative.lo_ns = std::max<Nanoseconds>(0, each.cumulative.lo_ns - less_ns);
  }
}

void add_workers(Report& report, std::size_t processors, Remedy& remedy) {
  const bool asks_for_workers = std::any_of(remedy.to_type.begin(), remedy.to_type.end(), [](const std::string& text) {
    return text.find("num_workers=N") != std::string::npos;
  });
  if (report.loader && !report.loader->more_workers_help && asks_for_workers) {
    const bool is_trainers = remedy.to_type.front().find("dataloader_num_workers") != std::string::npos;
    const bool keeps = report.loader->limit == LoaderLimit::kRestarted;
    remedy.title = report.loader->title;
    remedy.to_type = {keeps && is_trainers ? "TrainingArguments(..., dataloader_persistent_workers=True)"
                                           : report.loader->type};
    remedy.by_library = false;  // its switch is no longer what is typed
    return;
  }
  const std::size_t by_times = report.loader ? 0 : workers_by_times(report.savings, processors, remedy);
  if (fill_workers(report.loader ? report.loader->needed : by_times, remedy) || remedy.by_library) return;
  if (report.loader) {
    remedy.title = report.loader->title;
    remedy.to_type = {report.loader->type};
  } else if (by_times > 0) {
    const bool is_many =
        processors == 0 && by_times > kFewWorkers;  // nobody knows whether there are as many processors
    remedy.title = is_many ? "DataLoader workers: 0 -> one for each processor"
                           : format_text("DataLoader workers: 0 -> {}", by_times);
    remedy.to_type = {format_text("num_workers={}, persistent_workers=True",
                                  is_many ? "os.cpu_count() - 1" : std::to_string(by_times))};
    take_off_transport(report.savings, remedy);
  } else if (waits_in(remedy, "_MultiProcessingDataLoaderIter")) {
    const double times = static_cast<double>(report.savings.base_ns) /
                         static_cast<double>(std::max<Nanoseconds>(1, report.savings.base_ns - remedy.alone.ns));
    remedy.to_type = {times < kOneMoreWorker
                          ? std::string("raise num_workers= by one, while processors are free")
                          : format_text("raise num_workers= to {:.{}f} times as many, while processors are free", times,
                                        times < 3 ? 1 : 0)};
  }
}

// What the starved threads of the program waited for a processor in ordinary steps, at their lines.
Remedy one_thread_each(const Report& report) {
  Remedy remedy;
  remedy.title = report.loader->title;
  remedy.to_type = {report.loader->type};
  remedy.fix = Fix::kFeedInput;
  remedy.rule = &kInputBoundRule;
  Nanoseconds starved_ns = 0;
  Nanoseconds host_ns = 0;
  for (const DeviceReport& device : report.devices) {
    if (device.id != report.verdict.device) continue;
    for (const IdleCause& cause : device.causes) {
      const Nanoseconds in_steps_ns = cause.steady_ns;
      const bool is_starved = cause.name == "cpu-starved";
      if (is_starved) starved_ns = add_saturated(starved_ns, in_steps_ns);
      host_ns = add_saturated(host_ns, in_steps_ns);
      if (!is_starved || remedy.fixes.size() == kMostShownFixes) continue;
      ShownFix& fix = remedy.fixes.emplace_back();
      fix.where = cause.where;
      fix.key = cause.fix_key;
      fix.saving.fix = remedy.fix;
      fix.saving.alone = {in_steps_ns, 0, in_steps_ns, Grade::kLow};
    }
  }
  remedy.alone = remedy.marginal = remedy.beside_replay = {starved_ns, starved_ns / 2, host_ns, Grade::kLow};
  return remedy;
}

// Takes the place of what the replay says of the loader: it cannot know how fast the program is with free processors.
void add_one_thread_each(Report& report) {
  std::vector<Remedy>& remedies = report.savings.remedies;
  Remedy remedy = one_thread_each(report);
  if (remedy.fixes.empty()) return;
  std::erase_if(remedies, [](const Remedy& each) { return each.fix == Fix::kFeedInput; });
  for (Remedy& other : remedies) {
    other.cumulative.ns = std::min(report.savings.base_ns, add_saturated(other.cumulative.ns, remedy.marginal.ns));
    other.cumulative.hi_ns =
        std::min(report.savings.base_ns, add_saturated(other.cumulative.hi_ns, remedy.marginal.hi_ns));
  }
  remedy.cumulative = remedy.marginal;
  remedies.insert(remedies.begin(), std::move(remedy));
}

}  // namespace

void add_details(std::size_t processors, Report& report) {
  if (report.loader && report.loader->limit == LoaderLimit::kThreads) add_one_thread_each(report);
  for (Remedy& remedy : report.savings.remedies) {
    if (remedy.fix == Fix::kFeedInput) add_workers(report, processors, remedy);
    if (remedy.fix != Fix::kSpeedUp) continue;
    ShownFix& fix = remedy.fixes.front();
    fix.until_line = end_of_stretch(report, fix);
    if (std::string busiest = busiest_lines(report, fix); !busiest.empty())
      remedy.to_type.insert(remedy.to_type.begin(), std::move(busiest));
  }
}

}  // namespace synctrace
