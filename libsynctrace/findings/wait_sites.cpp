// SPDX-License-Identifier: Apache-2.0
#include "findings/wait_sites.h"

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
#include "findings/line_rules.h"
#include "findings/paired_calls.h"
#include "findings/rules.h"
#include "findings/stack_places.h"
#include "findings/trace_words.h"
#include "findings/trust.h"
#include "names/resolve_stack.h"

namespace synctrace {
namespace {

// One wait, or call that could have been one.
struct Event {
  const Rule* rule = nullptr;
  std::vector<std::string_view> other_rules;
  StackId stack{};
  StackPlace place{};
  ThreadId thread{};
  Nanoseconds time_ns = 0;
  std::string function;
  WaitFigures figures;  // of this one
  bool synchronises = false;
};

class WaitFinder {
 public:
  WaitFinder(const Trace& trace, const Attribution& attribution, const UserCode& user_code,
             const WaitSitesOptions& options)
      : trace_(trace),
        attribution_(attribution),
        places_(trace, user_code),
        rules_(trace, attribution.evidence->stacks, places_),
        surroundings_(trace, options.ranges) {
    find_step_spans(options);
  }

  void run() {
    found_.pageable_bytes.resize(found_.steps.size() + 1);
    add_calls();
    add_polls();
    add_sleeps();
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
  void add_calls();
  void add_pair(const PairedCall& pair);
  void add_polls();
  void add_sleeps();
  const Rule* rule_of_pair(const PairedCall& pair) const;
  void add(const Event& event);
  std::uint32_t stack_of(StackId stack);
  void count_pageable(const Call& call);

  const Trace& trace_;
  const Attribution& attribution_;
  StackPlaces places_;
  LineRules rules_;
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
bool synchronises(const Call& call, const Judgement& judgement) {
  if (judgement.verdict == Verdict::kBlocked || wait_habit(call) == WaitHabit::kExplicit) return true;
  const bool to_host = call.copy_kind == CopyKind::kDeviceToHost || call.copy_kind == CopyKind::kArrayToHost;
  return judgement.verdict == Verdict::kOwnWork && to_host;
}

void count(Verdict verdict, Basis basis, WaitFigures& figures) {
  figures.calls = 1;
  figures.waited = verdict == Verdict::kBlocked ? 1 : 0;
  figures.waited_by_length = verdict == Verdict::kBlocked && basis == Basis::kLength ? 1 : 0;
  figures.redundant = verdict == Verdict::kRedundant ? 1 : 0;
  figures.own_copy = verdict == Verdict::kOwnWork ? 1 : 0;
  figures.unclear = verdict == Verdict::kUnknown ? 1 : 0;
}

// As in the report's tables.
const Rule* WaitFinder::rule_of_pair(const PairedCall& pair) const {
  const Call& call = trace_.calls[pair.row];
  const bool by_sync = pair.sync_row != PairedCall::kNoRow && !copy_leads(call);
  const Rule* rule = rules_.of(by_sync ? trace_.calls[pair.sync_row] : call, pair.place);
  if (rule != nullptr) return rule;
  return is_copy(call.category) ? &kBlockingMemcpyRule : &kHiddenSyncRule;
}

void WaitFinder::add_calls() {
  const std::vector<PairedCall> pairs = pair_calls(trace_, places_, [](const Call&) { return true; });
  for (const PairedCall& pair : pairs) add_pair(pair);
}

void WaitFinder::count_pageable(const Call& call) {
  if (!is_copy(call.category) ||
      host_memory(call.copy_kind, call.source_memory, call.target_memory) != MemoryKind::kPageable)
    return;
  if (surroundings_.is_excluded(call.span.begin_ns)) return;
  found_.pageable_bytes[std::min<std::size_t>(step_at(call.span.begin_ns), found_.steps.size())] += call.bytes;
}

void WaitFinder::add_pair(const PairedCall& pair) {
  const Call& call = trace_.calls[pair.row];
  const Judgement& judged = attribution_.judgements[pair.row];
  count_pageable(call);
  const bool has_sync = pair.sync_row != PairedCall::kNoRow;
  if (judged.creates_context) return;
  if (!has_sync && !can_wait(call, judged)) return;
  Event event;
  event.rule = rule_of_pair(pair);
  event.stack = call.stack;
  event.place = pair.place;
  event.thread = call.thread;
  event.time_ns = call.span.begin_ns;
  event.function = printable(api_name(trace_, call.api));
  Verdict verdict = judged.verdict;
  event.synchronises = synchronises(call, judged);
  Basis basis = judged.basis;
  event.figures.bytes = call.bytes;
  event.figures.host_blocked_ns = judged.blocked_ns;
  if (const Rule* rule = rule_of(call)) event.other_rules = {rule->id, rule->name};
  if (has_sync) {
    const Call& sync = trace_.calls[pair.sync_row];
    const Judgement& synced = attribution_.judgements[pair.sync_row];
    verdict = verdict_of_pair(verdict, synced.verdict);
    if (synced.verdict == verdict) basis = synced.basis;
    event.synchronises = true;
    event.function = copy_leads(call) ? event.function + " + sync" : printable(api_name(trace_, sync.api)) + " + copy";
    event.figures.host_blocked_ns = add_saturated(event.figures.host_blocked_ns, synced.blocked_ns);
    if (const Rule* rule = rule_of(sync)) event.other_rules.insert(event.other_rules.end(), {rule->id, rule->name});
  }
  const WaitFigures amounts = event.figures;
  count(verdict, basis, event.figures);
  event.figures.bytes = amounts.bytes;
  event.figures.host_blocked_ns = amounts.host_blocked_ns;
  found_.judged_by_length += basis == Basis::kLength ? 1 : 0;
  add(event);
}

void WaitFinder::add_polls() {
  for (const Poll& poll : trace_.polls) {
    if (!is_wait(poll)) continue;
    Event event;
    event.rule = &kPollingRule;
    event.stack = poll.stack;
    event.place = places_.place_of(poll.stack);
    event.thread = poll.thread;
    event.time_ns = poll.span.begin_ns;
    event.function = printable(api_name(trace_, poll.api));
    event.synchronises = true;
    count(Verdict::kBlocked, Basis::kTimeline, event.figures);
    event.figures.host_blocked_ns = poll.span.length_ns();
    add(event);
  }
}

void WaitFinder::add_sleeps() {
  const std::vector<GpuSleep>& sleeps = attribution_.sleeps.host_waits;
  for (std::uint32_t row = 0; row < sleeps.size(); ++row) {
    // A library's thread that slept for the sake of another is that one's wait.
    if (!sleeps[row].waited || sleeps[row].owner != row) continue;
    const HostWait& wait = trace_.host_waits[row];
    // Threads of a library that run nothing of the program's wait for the next task as well, and nobody can fix that.
    const StackTraits traits = attribution_.evidence->stacks.traits(wait.stack);
    if (number(wait.stack) != 0 && !traits.python && !traits.user) continue;
    Event event;
    event.rule = &kFrameworkWaitRule;
    event.stack = wait.stack;
    event.place = places_.place_of(wait.stack);
    event.thread = wait.thread;
    event.time_ns = wait.span.begin_ns;
    event.function = host_call_word(wait.call);
    event.synchronises = true;
    count(Verdict::kBlocked, Basis::kTimeline, event.figures);
    event.figures.host_blocked_ns = wait.span.length_ns();
    add(event);
  }
}

// As many as one report may describe: stacks after them are their innermost frame alone.
std::uint32_t WaitFinder::stack_of(StackId stack) {
  const auto [known, is_new] = stacks_.try_emplace(stack, static_cast<std::uint32_t>(found_.stacks.size()));
  if (!is_new) return known->second;
  std::vector<ResolvedFrame> frames = resolve_stack(trace_, stack);
  if (stack_bytes_ >= StackPlaces::kMostDescribedBytes) frames.resize(std::min<std::size_t>(frames.size(), 1));
  for (const ResolvedFrame& frame : frames) stack_bytes_ += sizeof(frame) + frame.function.size() + frame.file.size();
  found_.stacks.push_back(std::move(frames));
  return known->second;
}

void WaitFinder::add(const Event& event) {
  if (surroundings_.is_excluded(event.time_ns)) return;
  const std::uint32_t around = surroundings_.at(event.thread, event.time_ns);
  const std::uint32_t step = step_at(event.time_ns);
  const bool is_placed = number(event.place) != 0;
  const auto [draft, is_new] =
      sites_.try_emplace({event.rule, event.place, is_placed ? std::string() : event.function});
  GroupedCallSite& site = draft->second.site;
  if (is_new) {
    site.rule = event.rule;
    site.where = places_.line_of(event.place);
  }
  const auto [known, is_first] = draft->second.groups.try_emplace({event.stack, around}, site.groups.size());
  if (is_first) site.groups.push_back({around, stack_of(event.stack), event.function, event.other_rules, {}});
  WaitGroup& group = site.groups[known->second];
  if (group.steps.empty() || group.steps.back().step != step) group.steps.push_back({step, 0, {}});
  group.steps.back().synchronising += event.synchronises ? 1 : 0;
  group.steps.back().figures.add(event.figures);
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

void WaitFigures::add(const WaitFigures& other) noexcept {
  calls += other.calls;
  waited += other.waited;
  waited_by_length += other.waited_by_length;
  redundant += other.redundant;
  own_copy += other.own_copy;
  unclear += other.unclear;
  bytes += other.bytes;
  host_blocked_ns = add_saturated(host_blocked_ns, other.host_blocked_ns);
}

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
  add_losses(trace, out);
  add_idle(attribution, out);
  return out;
}

}  // namespace synctrace
