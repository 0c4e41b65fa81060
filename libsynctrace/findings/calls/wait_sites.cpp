// SPDX-License-Identifier: Apache-2.0
#include "findings/calls/wait_sites.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "attribution/attribute.h"
#include "attribution/evidence.h"
#include "attribution/gpu_sleep.h"
#include "attribution/wait_table.h"
#include "base/shown_text.h"
#include "findings/calls/line_rules.h"
#include "findings/calls/queued_work.h"
#include "findings/calls/sites.h"
#include "findings/calls/stack_places.h"
#include "findings/calls/trust.h"
#include "findings/calls/waits.h"
#include "findings/report/rules.h"
#include "findings/report/trace_words.h"
#include "names/resolve_stack.h"

namespace synctrace {
namespace {

class WaitFinder {
 public:
  WaitFinder(const Trace& trace, const Attribution& attribution, const UserCode& user_code,
             const WaitSitesOptions& options)
      : trace_(trace),
        attribution_(attribution),
        places_(trace, user_code, StackPlaces::kMostDescribedBytes, HelperPlaces::kOwnLine),
        callers_(trace, user_code),
        rules_(trace, attribution.evidence->stacks, places_),
        waits_(trace, attribution, places_),
        queued_(trace),
        surroundings_(trace, options.ranges) {
    find_step_spans(options);
  }

  void run() {
    found_.pageable_bytes.resize(found_.steps.size() + 1);
    const SiteGroups groups = group_sites(waits_, rules_, places_, true);
    for (std::size_t i = 0; i < groups.of_events.size(); ++i) {
      const PossibleWait& event = waits_.events()[i];
      if (event.table == OwnerTable::kCall) count_pageable(trace_.calls[event.row]);
      if (event.table == OwnerTable::kCall && waits_.judgement(event.row).creates_context) continue;
      if (waits_.can_wait(event)) add(event, groups.sites[groups.of_events[i]]);
    }
    for (auto& [key, draft] : sites_) found_.sites.push_back(std::move(draft.site));
    found_.surroundings = surroundings_.all();
    found_.zones = surroundings_.zones();
    for (const std::string& text : surroundings_.unknown_texts()) found_.unknown_annotations.push_back(printable(text));
  }

  WaitSites take() { return std::move(found_); }

 private:
  using Key = std::tuple<const Rule*, StackPlace, std::string>;  // the function only where the place is not known
  struct Draft {
    GroupedCallSite site;
    std::map<std::pair<StackId, std::uint32_t>, std::size_t> groups;  // by stack and surroundings
  };

  void find_step_spans(const WaitSitesOptions& options);
  std::uint32_t step_at(Nanoseconds t) const;
  bool synchronises(const PossibleWait& event) const;
  const Rule* rule_of(const PossibleWait& event, const CallSite& site) const;
  std::vector<std::string_view> other_rules_of(const PossibleWait& event) const;
  void add(const PossibleWait& event, const CallSite& site);
  bool is_costless(const PossibleWait& event) const;
  SourceLine caller_of(StackId stack) const;
  std::uint32_t stack_of(StackId stack);
  void count_pageable(const Call& call);

  const Trace& trace_;
  const Attribution& attribution_;
  StackPlaces places_;
  StackPlaces callers_;
  LineRules rules_;
  Waits waits_;
  QueuedWork queued_;
  Surroundings surroundings_;
  std::map<Key, Draft> sites_;
  std::map<StackId, std::uint32_t> stacks_;
  std::size_t stack_bytes_ = 0;
  WaitSites found_;
};

// A loop that was found counts where it is sure to be the step. A guess is no ground for a verdict.
void WaitFinder::find_step_spans(const WaitSitesOptions& options) {
  const Steps& steps = attribution_.steps;
  const bool is_found = steps.source == StepSource::kLoop || steps.source == StepSource::kPeriodicity;
  const bool is_sure = !is_found || steps.confidence == StepConfidence::kHigh;
  if (options.marked_steps && !surroundings_.steps().empty()) {
    found_.steps = surroundings_.steps();
    found_.step_source = "nvtx";
    found_.step_name = std::string(kAnnotationDomain) + ":step";
    for (const TimeSpan step : found_.steps) found_.step_lengths.push_back(step.length_ns());
  } else if (steps.source != StepSource::kNone) {
    if (!is_sure) found_.doubted_steps = steps.doubt.empty() ? "too little is known of them" : printable(steps.doubt);
    if (!is_sure && !options.guessed_steps) return;
    for (const Step& step : steps.steps) {
      found_.steps.push_back(step.host);
      found_.step_lengths.push_back(step.length_ns);
    }
    found_.step_source = step_source_name(steps.source);
    found_.step_name = printable(steps.name);
  }
}

std::uint32_t WaitFinder::step_at(Nanoseconds t) const {
  const auto after = std::upper_bound(found_.steps.begin(), found_.steps.end(), t,
                                      [](Nanoseconds time, TimeSpan span) { return time < span.begin_ns; });
  if (after == found_.steps.begin() || !std::prev(after)->contains(t)) return kOutsideSteps;
  return static_cast<std::uint32_t>(std::prev(after) - found_.steps.begin());
}

// A wait by what it is, whether or not there was anything to wait for, or one by what it did. A copy to pageable memory
// waits at least for itself.
bool WaitFinder::synchronises(const PossibleWait& event) const {
  if (event.table != OwnerTable::kCall || event.is_pair()) return true;
  const Call& call = trace_.calls[event.row];
  const Verdict verdict = waits_.judgement(event.row).verdict;
  if (verdict == Verdict::kBlocked || wait_habit(call) == WaitHabit::kExplicit) return true;
  return verdict == Verdict::kOwnWork && goes_to_host(call.copy_kind);
}

// The same rule as in the report's tables, where it has one.
const Rule* WaitFinder::rule_of(const PossibleWait& event, const CallSite& site) const {
  if (site.rule() != nullptr) return site.rule();
  return is_copy(trace_.calls[event.row].category) ? &kBlockingMemcpyRule : &kHiddenSyncRule;
}

std::vector<std::string_view> WaitFinder::other_rules_of(const PossibleWait& event) const {
  std::vector<std::string_view> words;
  if (event.table != OwnerTable::kCall) return words;
  for (const std::uint32_t row : {event.row, event.sync_row}) {
    const Rule* rule = row == kNoCall ? nullptr : synctrace::rule_of(trace_.calls[row]);
    if (rule != nullptr) words.insert(words.end(), {rule->id, rule->name});
  }
  return words;
}

void WaitFinder::count_pageable(const Call& call) {
  if (!is_pageable_copy(call) || surroundings_.is_excluded(call.span.begin_ns)) return;
  found_.pageable_bytes[std::min<std::size_t>(step_at(call.span.begin_ns), found_.steps.size())] += call.bytes;
}

// Describes as much as one report may: later stacks are their innermost frame alone.
std::uint32_t WaitFinder::stack_of(StackId stack) {
  const auto [known, is_new] = stacks_.try_emplace(stack, static_cast<std::uint32_t>(found_.stacks.size()));
  if (!is_new) return known->second;
  std::vector<ResolvedFrame> frames = resolve_stack(trace_, stack);
  if (stack_bytes_ >= StackPlaces::kMostDescribedBytes) frames.resize(std::min<std::size_t>(frames.size(), 1));
  for (const ResolvedFrame& frame : frames) stack_bytes_ += sizeof(frame) + frame.function.size() + frame.file.size();
  found_.stacks.push_back(std::move(frames));
  return known->second;
}

SourceLine WaitFinder::caller_of(StackId stack) const {
  SourceLine caller = callers_.line_of(stack);
  if (!caller.through.is_users()) return {};
  caller.stack.clear();
  return caller;
}

// Only calls: of polls and sleeps it is not known for which GPU they wait.
bool WaitFinder::is_costless(const PossibleWait& event) const {
  if (event.table != OwnerTable::kCall) return false;
  const Call& call = trace_.calls[event.is_pair() ? event.sync_row : event.row];
  return queued_.outlasts(call.context, call.span.end_ns);
}

void WaitFinder::add(const PossibleWait& event, const CallSite& site) {
  WaitFigures figures = waits_.figures(event);
  if (event.table == OwnerTable::kPoll) figures.calls = 1;  // a run of queries is one wait
  if (figures.waited > 0 && is_costless(event)) figures.costless = figures.waited;
  found_.judged_by_length += figures.by_length;
  const auto [begin_ns, thread, stack] = waits_.origin(event);
  if (surroundings_.is_excluded(begin_ns)) return;
  const std::uint32_t around = surroundings_.at(thread, begin_ns);
  const std::uint32_t step = step_at(begin_ns);
  const Rule* rule = rule_of(event, site);
  const bool is_placed = number(event.place) != 0;
  const auto [known_site, is_new] = sites_.try_emplace({rule, event.place, is_placed ? "" : called_there(site)});
  Draft& draft = known_site->second;
  std::vector<WaitGroup>& groups = draft.site.groups;
  if (is_new) {
    draft.site.rule = rule;
    draft.site.where = site.where;
  }
  const auto [known, is_first] = draft.groups.try_emplace({stack, around}, groups.size());
  if (is_first)
    groups.push_back({around, stack_of(stack), called_there(site), other_rules_of(event), {}, caller_of(stack)});
  WaitGroup& group = groups[known->second];
  if (group.steps.empty() || group.steps.back().step != step) group.steps.push_back({step, 0, {}});
  group.steps.back().synchronising += synchronises(event) ? 1 : 0;
  group.steps.back().figures.add(figures);
}

// Idle time of the ordinary steps where there are steps, else of all but the edges of the recording.
void add_idle(const Attribution& attribution, WaitSites& out) {
  Nanoseconds in_steps_ns = 0;
  for (const Step& step : attribution.steps.steps) {
    if (!out.doubted_steps.empty() && out.steps.empty()) break;  // what does not count is no step
    if (step.kind == StepKind::kSteady) in_steps_ns = add_saturated(in_steps_ns, step.length_ns);
  }
  for (const auto& [device, causes] : attribution.causes) {
    DeviceIdle idle{number(device), 0, in_steps_ns};
    Nanoseconds edges_ns = 0;
    for (const Cause& cause : causes) {
      if (cause.key.copying) continue;
      if (is_edge(cause.key.kind)) edges_ns += cause.idle_ns;
      if (in_steps_ns > 0)
        idle.idle_ns += cause.steady_ns;
      else if (!is_edge(cause.key.kind))
        idle.idle_ns += cause.idle_ns;
    }
    const auto state = attribution.devices.find(device);
    if (in_steps_ns == 0 && state != attribution.devices.end()) idle.of_ns = state->second.window_ns - edges_ns;
    // A gap belongs to the step whose work ended it, and may have begun before that step.
    idle.idle_ns = std::clamp<Nanoseconds>(idle.idle_ns, 0, idle.of_ns);
    out.idle.push_back(idle);
  }
}

}  // namespace

WaitFigures WaitGroup::figures() const noexcept {
  WaitFigures sum;
  for (const StepWaits& step : steps) sum.add(step.figures);
  return sum;
}

std::uint64_t WaitGroup::synchronising() const noexcept {
  std::uint64_t sum = 0;
  for (const StepWaits& step : steps) sum += step.synchronising;
  return sum;
}

WaitSites find_wait_sites(const Trace& trace, const Attribution& attribution, const UserCode& user_code,
                          const WaitSitesOptions& options) {
  WaitFinder finder(trace, attribution, user_code, options);
  finder.run();
  WaitSites out = finder.take();
  out.trace = printable(trace.path);
  out.program = printable(fact(trace, "command_line"));
  out.folder = fact(trace, "working_folder");
  out.level = printable(fact(trace, "level", trace.has_timeline() ? "timeline" : "syncs"));
  out.simulated = fact(trace, "simulated") == "1";
  out.has_timeline = trace.has_timeline();
  out.events = trace.calls.size() + trace.launches.size() + trace.polls.size();
  add_losses(trace, options.guessed_steps, out);
  add_idle(attribution, out);
  return out;
}

}  // namespace synctrace
