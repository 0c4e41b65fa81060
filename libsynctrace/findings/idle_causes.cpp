// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "attribution/attribute.h"
#include "base/shown_text.h"
#include "findings/calls/waits.h"
#include "findings/report_parts.h"
#include "findings/verdict.h"
#include "whatif/fix_sites.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostActivities = 3;

// What the calls of each place and function cost the host; a run of queries is one.
class HostCosts {
 public:
  HostCosts(const Trace& trace, const Attribution& attribution, StackPlaces& places) {
    for (std::size_t row = 0; row < trace.calls.size(); ++row) {
      const Call& call = trace.calls[row];
      costs_[{places.place_of(call.stack), number(call.api), false}].add(figures_of(call, attribution.judgements[row]));
    }
    for (const Poll& poll : trace.polls) {
      WaitFigures figures = figures_of(poll);
      figures.calls = 1;
      costs_[{places.place_of(poll.stack), number(poll.api), false}].add(figures);
    }
    for (std::size_t row = 0; row < trace.host_waits.size(); ++row) {
      const HostWait& wait = trace.host_waits[row];
      costs_[{places.place_of(wait.stack), std::uint32_t{number(wait.call)}, true}].add(
          figures_of(wait, attribution.sleeps.host_waits[row]));
    }
  }

  WaitFigures of(StackPlace place, const CallSiteKey& site) const {
    const bool slept = site.table == OwnerTable::kHostWait;
    if (!slept && site.table != OwnerTable::kCall && site.table != OwnerTable::kPoll) return {};
    const auto found = costs_.find({place, slept ? std::uint32_t{number(site.host_call)} : number(site.api), slept});
    return found == costs_.end() ? WaitFigures{} : found->second;
  }

 private:
  // Place, function, whether it is one of the C library.
  std::map<std::tuple<StackPlace, std::uint32_t, bool>, WaitFigures> costs_;
};

// What a stack of a place counts: first those in the steps, then those seen most often.
struct StackWeight {
  bool in_steps = false;
  std::uint64_t occurrences = 0;

  void add(const Cause& cause) {
    in_steps = in_steps || cause.steady_ns > 0;
    occurrences += cause.occurrences;
  }
  friend auto operator<=>(const StackWeight&, const StackWeight&) = default;
};
using StackWeights = std::map<StackId, StackWeight>;

StackId typical_of(const StackWeights& stacks) {
  return std::max_element(stacks.begin(), stacks.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// The first stack of a place may be of the set-up, whose function calls the model once.
void set_typical_stacks(const std::vector<Cause>& causes, StackPlaces& places) {
  std::map<StackPlace, StackWeights> weights;
  for (const Cause& cause : causes) weights[places.place_of(cause.key.site.stack)][cause.key.site.stack].add(cause);
  for (const auto& [place, stacks] : weights) places.set_typical(place, typical_of(stacks));
}

class CauseMerger {
 public:
  CauseMerger(const Trace& trace, const LineRules& rules, const HostCosts& costs, StackPlaces& places)
      : trace_(trace), rules_(rules), costs_(costs), places_(places) {}

  std::vector<IdleCause> run(const std::vector<Cause>& causes, bool copying) {
    std::map<Key, Draft> drafts;
    for (const Cause& cause : causes) {
      if (cause.key.copying == copying) add(cause, drafts[key_of(cause.key)]);
    }
    std::vector<IdleCause> result;
    for (auto& [key, draft] : drafts) result.push_back(finished(draft));
    std::sort(result.begin(), result.end(), [](const IdleCause& a, const IdleCause& b) {
      return std::tuple(is_edge(a.kind), -a.steady_ns, -a.idle_ns,
                        std::tie(a.name, a.where.file, a.where.line, a.call)) <
             std::tuple(is_edge(b.kind), -b.steady_ns, -b.idle_ns,
                        std::tie(b.name, b.where.file, b.where.line, b.call));
    });
    return result;
  }

 private:
  // Name, place, reason; and where the place is not known what comes behind it, and the function.
  using Key = std::tuple<std::string_view, StackPlace, StackPlace, Reason, ApiId, HostCall>;
  struct Draft {
    IdleCause cause;
    bool started = false;
    std::map<std::pair<CauseKind, StackPlace>, Nanoseconds> activities;
    std::map<StackPlace, Nanoseconds> untils;
    StackWeights stacks;
    FixKey helper;  // where a library's thread worked for this place, most of the time that it did
    Nanoseconds helper_ns = 0;
  };

  std::string_view name_of(const CauseKey& key) {
    const Rule* rule = rules_.of(key, places_.place_of(key.site.stack));
    return rule == nullptr ? cause_name(key.kind) : rule->name;
  }

  Key key_of(const CauseKey& key) {
    const StackPlace place = places_.place_of(key.site.stack);
    const bool placed = number(place) != 0;
    return {name_of(key),
            place,
            placed ? StackPlace{} : places_.place_of(key.site.until),
            key.reason,
            placed ? ApiId{} : key.site.api,
            placed ? HostCall{} : key.site.host_call};
  }

  void start(const CauseKey& key, Draft& draft) {
    IdleCause& cause = draft.cause;
    const StackPlace place = places_.place_of(key.site.stack);
    cause.rule = rules_.of(key, place);
    cause.name = name_of(key);
    cause.kind = key.kind;
    cause.reason = reason_words(key.reason);
    // Under a copy's rule, the copy's fix is asked for.
    const bool waits_for_copy = rule_of_cause(key.kind, {}) == &kDependencyRule && cause.rule != &kDependencyRule;
    cause.fix_key = fix_key_of(waits_for_copy ? CauseKind::kPageableCopy : key.kind, key.site);
    cause.line_key = cause.fix_key;
    if (number(key.site.api) != 0) cause.call = printable(api_name(trace_, key.site.api));
    draft.started = true;
  }

  FixKey fix_key_of(CauseKind kind, const CallSiteKey& site) {
    return fix_key_of_cause(kind, places_.place_of(site.stack), places_.place_of(site.until), site.api, site.host_call);
  }

  void add(const Cause& cause, Draft& draft) {
    if (!draft.started) start(cause.key, draft);
    IdleCause& row = draft.cause;
    row.idle_ns += cause.idle_ns;
    row.steady_ns += cause.steady_ns;
    row.irregular_ns += cause.irregular_ns;
    row.uncertain_ns += cause.by_confidence[static_cast<std::size_t>(Confidence::kLow)];
    row.uncertain_in_steps_ns += cause.uncertain_in_steps_ns;
    row.occurrences += cause.occurrences;
    row.numbers.push_back(cause.number);
    draft.stacks[cause.key.site.stack].add(cause);
    draft.untils[places_.place_of(cause.key.site.until)] += cause.idle_ns;
    // Another thread's work is counted by what it did, not by the sleeps at the line that waited for it.
    const bool worked =
        cause.key.site.table == OwnerTable::kHostWait && !traits_of(cause.key.kind).has(CauseTraits::kSleeps);
    const WaitFigures cost = worked ? WaitFigures{} : costs_.of(places_.place_of(cause.key.site.stack), cause.key.site);
    row.count = std::max(row.count, cost.calls);
    row.host_blocked_ns = std::max(row.host_blocked_ns, cost.host_blocked_ns);
    if (!cause.key.drained && !(cause.key.activity == cause.key.site)) {
      if (draft.helper_ns == 0) draft.helper = fix_key_of(cause.key.kind, cause.key.activity);
      draft.helper_ns += cause.idle_ns;
    }
    if (cause.key.drained) {
      draft.activities[{cause.key.activity_kind, places_.place_of(cause.key.activity.stack)}] += cause.idle_ns;
    }
  }

  // At the place of all of them, by the stack that is typical: the first one may have loaded the code.
  SourceLine typical_line(const Draft& draft) const {
    const StackId stack = typical_of(draft.stacks);
    return number(places_.place_of(stack)) == 0 ? SourceLine() : places_.line_of(stack);
  }

  IdleCause finished(Draft& draft) const {
    IdleCause& cause = draft.cause;
    cause.where = typical_line(draft);
    if (cause.count == 0) cause.count = cause.occurrences;
    // What is to be fixed is where the other thread spends the time, as soon as that is a tenth of it: the line itself
    // waits for that thread and no fix of its own would help.
    if (draft.helper_ns > cause.idle_ns / 10) cause.fix_key = draft.helper;
    // Told where it is what most of the row has in common.
    for (const auto& [until, ns] : draft.untils) {
      if (number(until) != 0 && ns > cause.idle_ns / 2) cause.until = places_.line_of(until);
    }
    std::vector<std::pair<Nanoseconds, std::pair<CauseKind, StackPlace>>> sorted;
    for (const auto& [what, ns] : draft.activities) sorted.emplace_back(ns, what);
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [ns, what] : sorted) {
      if (cause.activities.size() == kMostActivities) break;
      cause.activities.push_back({std::string(cause_name(what.first)), places_.line_of(what.second), ns});
    }
    return std::move(cause);
  }

  const Trace& trace_;
  const LineRules& rules_;
  const HostCosts& costs_;
  StackPlaces& places_;
};

StepsReport steps_report(const Steps& steps) {
  StepsReport report;
  report.source = step_source_name(steps.source);
  report.name = printable(steps.name);
  report.where = {printable(steps.where.file), steps.where.line};
  report.confidence = steps.confidence;
  report.doubt = printable(steps.doubt);
  report.micro_steps = steps.micro_steps;
  report.is_by_log = steps.is_by_log;
  report.classes = class_figures_of(steps);
  for (ClassFigures& each : report.classes) each.name = printable(each.name);
  report.figures = figures_of(steps);
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const Step& step = steps.steps[i];
    if (step.kind == StepKind::kSteady) report.ordinary_ns = add_saturated(report.ordinary_ns, step.length_ns);
    if (step.kind != StepKind::kIrregular) continue;
    report.irregular_ns = add_saturated(report.irregular_ns, step.length_ns);
    report.irregular.push_back({i, step.host.begin_ns, step.length_ns});
  }
  const std::size_t irregular = report.figures.irregular;
  const std::size_t ordinary = report.figures.count - irregular;
  if (ordinary > 0) report.ordinary_mean_ns = report.ordinary_ns / static_cast<Nanoseconds>(ordinary);
  if (irregular > 0) report.irregular_mean_ns = report.irregular_ns / static_cast<Nanoseconds>(irregular);
  std::stable_sort(report.irregular.begin(), report.irregular.end(),
                   [](const IrregularStep& a, const IrregularStep& b) { return a.length_ns > b.length_ns; });
  report.irregular.resize(std::min(kMostIrregularSteps, report.irregular.size()));
  return report;
}

}  // namespace

void add_idle_causes(const Trace& trace, const Attribution& attribution, const LineRules& rules, StackPlaces& places,
                     Report& report) {
  report.steps = steps_report(attribution.steps);
  if (!trace.has_timeline()) return;
  const HostCosts costs(trace, attribution, places);
  CauseMerger merger(trace, rules, costs, places);
  for (DeviceReport& device : report.devices) {
    const auto causes = attribution.causes.find(DeviceId{device.id});
    if (causes == attribution.causes.end()) continue;
    set_typical_stacks(causes->second, places);
    device.causes = merger.run(causes->second, false);
    device.copy_causes = merger.run(causes->second, true);
  }
  report.verdict = verdict_of(report, attribution.steps);
}

}  // namespace synctrace
