// SPDX-License-Identifier: Apache-2.0
#include "report/savings.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/excerpt.h"
#include "report/words.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostInVain = 8;
// Launches, calls and pieces of GPU work. In a longer run more of them would tell nothing new.
constexpr std::size_t kMostReplayed = 200'000;
constexpr std::size_t kFewestSteps = 20;

class SavingsWriter {
 public:
  SavingsWriter(const Trace& trace, const WhatIf& found, UserLines& lines) : trace_(trace), found_(found), lines_(lines) {}

  SavingReport saving_of(std::uint16_t site) const {
    SavingReport report;
    const Saving* saving = found_.of_site(site);
    report.remedy = found_.sites[site].remedy;
    if (saving == nullptr) return report;
    report.alone = saving->alone;
    report.remedy = saving->remedy;
    report.ceiling_ns = saving->ceiling_ns;
    if (saving->moves_to != 0) report.moves_to = place_words(saving->moves_to);
    return report;
  }

  FixPlace place_of(std::uint16_t site) const {
    const FixKey& key = found_.sites[site].key;
    return {lines_.describe(key.place), call_of(key), key, saving_of(site)};
  }

 private:
  std::string call_of(const FixKey& key) const {
    constexpr std::uint32_t kHostFunctions = 1U << 31;
    if (key.function == 0) return {};
    if (key.family == FixKey::Family::kLaunch) return "all launches in the range";
    if ((key.function & kHostFunctions) != 0) return std::string(host_call_word(static_cast<HostCall>(key.function & ~kHostFunctions)));
    return printable(api_name(trace_, ApiId{key.function}));
  }

  // "train.py:93"; where the line is not known, the function.
  std::string place_words(std::uint16_t site) const {
    const UserLine where = lines_.describe(found_.sites[site].key.place);
    if (where.file.empty()) return where.function.empty() ? call_of(found_.sites[site].key) : where.function;
    const std::string file = path_text(where.file, printable(fact(trace_, "working_folder")));
    return where.line == 0 ? file : file + ":" + std::to_string(where.line);
  }

  const Trace& trace_;
  const WhatIf& found_;
  UserLines& lines_;
};

bool ends_in_path(std::string_view path, std::string_view end) {
  return path.ends_with(end) && (path.size() == end.size() || path[path.size() - end.size() - 1] == '/' || end.starts_with('/'));
}

// The sites that a question names.
class WishedSites {
 public:
  WishedSites(const WhatIfQuestion& question, UserLines& lines) : question_(question), lines_(lines) {}

  FixSet choose(const std::vector<ReplaySite>& sites) {
    FixSet chosen;
    for (const FixWish& wish : question_.wishes) take(wish, sites, chosen);
    for (std::uint16_t site = 1; site < sites.size(); ++site) {
      const bool assumed = (question_.pinned && sites[site].remedy == Remedy::kAsyncCopy) ||
                           (question_.no_input_wait && sites[site].remedy == Remedy::kFeedInput) ||
                           (!question_.graph_range.empty() && sites[site].key.family == FixKey::Family::kLaunch && sites[site].key.function == 1);
      if (assumed) add(site, chosen);
    }
    return chosen;
  }

  std::vector<std::string> notes() const { return notes_; }

 private:
  static void add(std::uint16_t site, FixSet& chosen) {
    if (std::find(chosen.begin(), chosen.end(), site) == chosen.end()) chosen.push_back(site);
  }

  // Of what can be done at a line where nothing is said: first what it makes the host or the GPU wait for, then its
  // launches, then its own time.
  static int rank(Remedy remedy) noexcept {
    if (remedy == Remedy::kNone) return 3;
    return remedy == Remedy::kSpeedUp ? 2 : remedy == Remedy::kGraph ? 1 : 0;
  }

  void take(const FixWish& wish, const std::vector<ReplaySite>& sites, FixSet& chosen) {
    std::vector<std::uint16_t> here;
    for (std::uint16_t site = 1; site < sites.size(); ++site) {
      const UserLine where = lines_.describe(sites[site].key.place);
      if (where.line == wish.line && ends_in_path(where.file, wish.file)) here.push_back(site);
    }
    int best = rank(Remedy::kNone);
    for (const std::uint16_t site : here) best = std::min(best, rank(sites[site].remedy));
    bool granted = false;
    std::string possible;
    for (const std::uint16_t site : here) {
      const Remedy remedy = sites[site].remedy;
      if (remedy == Remedy::kNone) continue;
      if (wish.remedy ? *wish.remedy == remedy : rank(remedy) == best) {
        add(site, chosen);
        granted = true;
      } else if (possible.find(remedy_name(remedy)) == std::string::npos) {
        possible += (possible.empty() ? "" : ", ") + std::string(remedy_name(remedy));
      }
    }
    if (granted) return;
    const std::string words = printable(wish.words);
    if (here.empty())
      notes_.push_back(words + ": nothing that a fix could change happens at that line.");
    else if (possible.empty())
      notes_.push_back(words + ": needs another algorithm; the host has to know the value to go on.");
    else
      notes_.push_back(words + ": not possible there; possible: " + possible + ".");
  }

  const WhatIfQuestion& question_;
  UserLines& lines_;
  std::vector<std::string> notes_;
};

// The middle of the run, in whole steps where there are any: its begin and its end tell less of it.
TimeSpan middle_of(const Trace& trace, const Steps& steps) {
  const double share = static_cast<double>(kMostReplayed) / static_cast<double>(rows_of(trace));
  const auto count = static_cast<std::size_t>(share * static_cast<double>(steps.steps.size()));
  if (count >= kFewestSteps) {
    const std::size_t first = (steps.steps.size() - count) / 2;
    return {steps.steps[first].host.begin_ns, steps.steps[first + count - 1].host.end_ns};
  }
  const auto length_ns = static_cast<Nanoseconds>(share * static_cast<double>(trace.last_ns - trace.first_ns));
  const Nanoseconds begin_ns = trace.first_ns + (trace.last_ns - trace.first_ns - length_ns) / 2;
  return {begin_ns, begin_ns + length_ns};
}

void scale(Nanoseconds& ns, double factor) { ns = std::llround(static_cast<double>(ns) * factor); }

void scale(Interval& interval, double factor) {
  scale(interval.ns, factor);
  scale(interval.lo_ns, factor);
  scale(interval.hi_ns, factor);
}

void scale(WhatIf& found, double factor) {
  scale(found.base_ns, factor);
  scale(found.all, factor);
  if (found.asked) scale(*found.asked, factor);
  for (Saving& saving : found.savings) {
    scale(saving.alone, factor);
    scale(saving.ceiling_ns, factor);
    scale(saving.moved_ns, factor);
  }
  for (FixStep& step : found.order) {
    scale(step.marginal, factor);
    scale(step.cumulative, factor);
  }
}

// Running a program again costs many times what explaining it does: of a long run, the middle speaks for the whole.
WhatIf what_if_of_excerpt(const Trace& trace, const Attribution& attribution, const PlaceOf& place_of, const WhatIfOptions& options,
                          Report& report) {
  const TimeSpan span = middle_of(trace, attribution.steps);
  const Trace excerpt = excerpt_of(trace, attribution.evidence->correlation, span);
  WhatIf found = what_if(attribute(excerpt), place_of, options);
  if (!found.refusal.empty() || found.base_ns <= 0) return found;
  const StepFigures& figures = report.steps.figures;
  const bool by_steps = found.by_steps && figures.count > 0 && found.steps > 0;
  const double factor = by_steps ? static_cast<double>(figures.mean_ns) * static_cast<double>(figures.count) / static_cast<double>(found.base_ns)
                                 : static_cast<double>(trace.last_ns - trace.first_ns) / static_cast<double>(span.length_ns());
  scale(found, factor);
  if (by_steps) found.steps = figures.count;
  report.losses.push_back({"savings-from-excerpt", 1, Severity::kNote,
                           "savings were predicted from " + duration_text(span.length_ns()) +
                               " in the middle of the run and stand for all of it"});
  return found;
}

}  // namespace

void add_savings(const Trace& trace, const Attribution& attribution, UserLines& lines, const WhatIfQuestion& question, Report& report) {
  if (!trace.has_timeline()) return;
  WishedSites wished(question, lines);
  WhatIfOptions options;
  options.graph_range = question.graph_range;
  if (!question.empty()) options.asked = [&](const std::vector<ReplaySite>& sites) { return wished.choose(sites); };
  const auto place_of = [&](StackId stack) { return lines.representative(stack); };
  const WhatIf found = rows_of(trace) <= kMostReplayed ? what_if(attribution, place_of, options)
                                                       : what_if_of_excerpt(trace, attribution, place_of, options, report);
  SavingsReport& savings = report.savings;
  savings.refusal = found.refusal;
  savings.by_steps = found.by_steps;
  savings.steps = found.steps;
  savings.base_ns = found.base_ns;
  savings.all = found.all;
  savings.unexplained_share = found.unexplained_share;
  if (!found.refusal.empty()) return;
  const SavingsWriter writer(trace, found, lines);
  for (DeviceReport& device : report.devices) {
    for (std::vector<IdleCause>* causes : {&device.causes, &device.copy_causes}) {
      for (IdleCause& cause : *causes) {
        const std::uint16_t site = found.find(cause.site);
        if (site != 0 && found.of_site(site) != nullptr) cause.saving = writer.saving_of(site);
      }
    }
  }
  for (const FixStep& step : found.order) {
    FixRow row{{}, step.marginal, step.cumulative};
    for (const std::uint16_t site : step.sites) row.places.push_back(writer.place_of(site));
    savings.order.push_back(std::move(row));
  }
  if (found.asked) {
    AskedReport asked{*found.asked, {}, wished.notes()};
    for (const std::uint16_t site : found.asked_sites) asked.places.push_back(writer.place_of(site));
    if (!question.graph_range.empty() && found.graph_site == 0) asked.notes.push_back("There is no NVTX range '" + printable(question.graph_range) + "'.");
    if (found.waits_in_graph > 0) {
      asked.notes.push_back(count_text(found.waits_in_graph) + " waits in the range would have to leave it before it can become a graph.");
    }
    savings.asked = std::move(asked);
  }
  for (const Saving& saving : found.savings) {
    const bool in_vain = saving.moves_to != 0 && saving.alone.grade == Grade::kNone;
    if (in_vain && savings.in_vain.size() < kMostInVain) savings.in_vain.push_back(writer.place_of(saving.site));
  }
}

std::string_view remedy_words(Remedy remedy) noexcept {
  switch (remedy) {
    case Remedy::kNone:
      return "needs another algorithm";
    case Remedy::kRemoveWait:
      return "remove the wait";
    case Remedy::kDeferRead:
      return "read it one step later";
    case Remedy::kDeferWait:
      return "copy asynchronously, wait later";
    case Remedy::kAsyncCopy:
      return "pinned memory, without waiting";
    case Remedy::kCacheMemory:
      return "keep the memory";
    case Remedy::kGraph:
      return "one CUDA graph, or fused";
    case Remedy::kFeedInput:
      return "have the input ready";
    case Remedy::kSpeedUp:
      return "make it twice as fast";
    case Remedy::kNoCollection:
      return "no collection in steps";
    case Remedy::kPreload:
      return "load it before the steps";
    case Remedy::kNoProfiler:
      return "without the recorder";
    case Remedy::kDropDependency:
      return "drop the dependency";
  }
  return "";
}

std::string_view remedy_name(Remedy remedy) noexcept {
  switch (remedy) {
    case Remedy::kNone:
      return "none";
    case Remedy::kRemoveWait:
      return "remove-wait";
    case Remedy::kDeferRead:
      return "defer-read";
    case Remedy::kDeferWait:
      return "defer-wait";
    case Remedy::kAsyncCopy:
      return "async-copy";
    case Remedy::kCacheMemory:
      return "cache-memory";
    case Remedy::kGraph:
      return "graph";
    case Remedy::kFeedInput:
      return "feed-input";
    case Remedy::kSpeedUp:
      return "speed-up";
    case Remedy::kNoCollection:
      return "no-collection";
    case Remedy::kPreload:
      return "preload";
    case Remedy::kNoProfiler:
      return "no-profiler";
    case Remedy::kDropDependency:
      return "drop-dependency";
  }
  return "";
}

std::string_view grade_name(Grade grade) noexcept {
  switch (grade) {
    case Grade::kNone:
      return "none";
    case Grade::kLow:
      return "low";
    case Grade::kMedium:
      return "medium";
    case Grade::kHigh:
      return "high";
  }
  return "";
}

}  // namespace synctrace
