// SPDX-License-Identifier: Apache-2.0
#include "gate/observe.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "attribution/evidence.h"
#include "attribution/gpu_sleep.h"
#include "attribution/wait_table.h"
#include "base/shown_text.h"
#include "findings/line_rules.h"
#include "findings/rules.h"
#include "findings/statements.h"
#include "findings/trace_words.h"
#include "findings/user_lines.h"
#include "gate/scope.h"
#include "gate/trust.h"
#include "model/source_lines.h"
#include "model/stacks.h"

namespace synctrace {
namespace {

// One wait, or call that could have been one.
struct Event {
  const Rule* rule = nullptr;
  std::vector<std::string_view> other_rules;
  StackId stack{};
  StackId place{};
  ThreadId thread{};
  Nanoseconds time_ns = 0;
  std::string function;
  WaitFigures figures;  // of this one
  bool synchronises = false;
};

class Observer {
 public:
  Observer(const Trace& trace, const Attribution& attribution, const UserCode& user_code, const GateConfig& config,
           const Repository& repository, AllowBook& book)
      : trace_(trace),
        attribution_(attribution),
        repository_(repository),
        book_(book),
        lines_(trace, user_code),
        rules_(trace, attribution.evidence->stacks, lines_),
        surroundings_(trace, asked_ranges(config)),
        scope_(attribution, surroundings_, config) {}

  void run(Observation& out) {
    add_calls();
    add_polls();
    add_sleeps();
    for (auto& [key, site] : sites_) out.sites.push_back(std::move(site.site));
    out.judged_calls = judged_calls_;
    out.judged_by_length = by_length_;
    out.zones = surroundings_.zones();
    for (const std::string& text : surroundings_.unknown_texts()) out.unknown_annotations.push_back(printable(text));
    for (const auto& [step, bytes] : pageable_bytes_) out.most_pageable_bytes = std::max(out.most_pageable_bytes, bytes);
    scope_.describe(out);
  }

 private:
  using SiteKey = std::tuple<const Rule*, StackId, std::string>;  // the function only where the place is not known
  struct Draft {
    ObservedSite site;
    std::map<std::pair<StackId, std::uint32_t>, std::size_t> sightings;  // by stack and surroundings
  };

  static std::vector<std::string> asked_ranges(const GateConfig& config) {
    std::vector<std::string> patterns;
    for (const AllowEntry& entry : config.allow) {
      if (!entry.range.empty()) patterns.push_back(entry.range);
    }
    return patterns;
  }

  void add_calls();
  void add_statement(const Statement& statement);
  void add_polls();
  void add_sleeps();
  const Rule* rule_of_statement(const Statement& statement) const;
  void add(const Event& event);
  std::size_t start_sighting(const Event& event, std::uint32_t around, ObservedSite& site);
  std::size_t allowed_by_comment(const Event& event, const ObservedSite& site);
  std::size_t allowed_by_range(const Event& event, const Surrounding& around);
  void count_pageable(const Call& call);

  const Trace& trace_;
  const Attribution& attribution_;
  const Repository& repository_;
  AllowBook& book_;
  UserLines lines_;
  LineRules rules_;
  Surroundings surroundings_;
  Scope scope_;
  std::map<SiteKey, Draft> sites_;
  std::map<std::uint32_t, std::uint64_t> pageable_bytes_;  // by step
  std::uint64_t judged_calls_ = 0;
  std::uint64_t by_length_ = 0;
};

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
const Rule* Observer::rule_of_statement(const Statement& statement) const {
  const Call& call = trace_.calls[statement.row];
  const bool by_sync = statement.sync_row != Statement::kNoRow && !copy_leads(call);
  const Rule* rule = rules_.of(by_sync ? trace_.calls[statement.sync_row] : call, statement.place);
  if (rule != nullptr) return rule;
  return is_copy(call.category) ? &kBlockingMemcpyRule : &kHiddenSyncRule;
}

void Observer::add_calls() {
  const std::vector<Statement> statements = find_statements(trace_, lines_, [](const Call&) { return true; });
  for (const Statement& statement : statements) add_statement(statement);
}

void Observer::count_pageable(const Call& call) {
  if (!is_copy(call.category) || host_memory(call.copy_kind, call.source_memory, call.target_memory) != MemoryKind::kPageable) return;
  std::uint32_t step = 0;
  if (scope_.judges(call.span.begin_ns, false, step)) pageable_bytes_[step] += call.bytes;
}

void Observer::add_statement(const Statement& statement) {
  const Call& call = trace_.calls[statement.row];
  const Judgement& judged = attribution_.judgements[statement.row];
  count_pageable(call);
  const bool has_sync = statement.sync_row != Statement::kNoRow;
  if (judged.creates_context) return;
  if (!has_sync && !can_wait(call, judged)) return;
  Event event;
  event.rule = rule_of_statement(statement);
  event.stack = call.stack;
  event.place = statement.place;
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
    const Call& sync = trace_.calls[statement.sync_row];
    const Judgement& synced = attribution_.judgements[statement.sync_row];
    verdict = verdict_of_pair(verdict, synced.verdict);
    if (synced.verdict == verdict) basis = synced.basis;
    event.synchronises = true;
    event.function = copy_leads(call) ? event.function + " + synchronisation" : printable(api_name(trace_, sync.api)) + " + copy";
    event.figures.host_blocked_ns = add_saturated(event.figures.host_blocked_ns, synced.blocked_ns);
    if (const Rule* rule = rule_of(sync)) event.other_rules.insert(event.other_rules.end(), {rule->id, rule->name});
  }
  const WaitFigures amounts = event.figures;
  count(verdict, basis, event.figures);
  event.figures.bytes = amounts.bytes;
  event.figures.host_blocked_ns = amounts.host_blocked_ns;
  by_length_ += basis == Basis::kLength ? 1 : 0;
  add(event);
}

void Observer::add_polls() {
  for (const Poll& poll : trace_.polls) {
    if (!is_wait(poll)) continue;
    Event event;
    event.rule = &kPollingRule;
    event.stack = poll.stack;
    event.place = lines_.representative(poll.stack);
    event.thread = poll.thread;
    event.time_ns = poll.span.begin_ns;
    event.function = printable(api_name(trace_, poll.api));
    event.synchronises = true;
    count(Verdict::kBlocked, Basis::kTimeline, event.figures);
    event.figures.host_blocked_ns = poll.span.length_ns();
    add(event);
  }
}

void Observer::add_sleeps() {
  const std::vector<GpuSleep>& sleeps = attribution_.sleeps.host_waits;
  for (std::uint32_t row = 0; row < sleeps.size(); ++row) {
    // A library's thread that slept for the sake of another is that one's wait.
    if (!sleeps[row].waited || sleeps[row].owner != row) continue;
    const HostWait& wait = trace_.host_waits[row];
    // Threads of a library that run nothing of the program's wait for the next task as well, and nobody can mend that.
    const StackTraits traits = attribution_.evidence->stacks.traits(wait.stack);
    if (number(wait.stack) != 0 && !traits.python && !traits.user) continue;
    Event event;
    event.rule = &kFrameworkWaitRule;
    event.stack = wait.stack;
    event.place = lines_.representative(wait.stack);
    event.thread = wait.thread;
    event.time_ns = wait.span.begin_ns;
    event.function = host_call_word(wait.call);
    event.synchronises = true;
    count(Verdict::kBlocked, Basis::kTimeline, event.figures);
    event.figures.host_blocked_ns = wait.span.length_ns();
    add(event);
  }
}

void Observer::add(const Event& event) {
  const std::uint32_t around = surroundings_.at(event.thread, event.time_ns);
  const bool strict = surroundings_[around].strict;
  std::uint32_t step = 0;
  if (!scope_.judges(event.time_ns, strict, step)) return;
  ++judged_calls_;
  const bool is_placed = number(event.place) != 0;
  const auto [draft, is_new] = sites_.try_emplace({event.rule, event.place, is_placed ? std::string() : event.function});
  ObservedSite& site = draft->second.site;
  if (is_new) {
    site.rule = event.rule;
    site.where = lines_.describe(event.place);
    const std::string_view folder = fact(trace_, "working_folder");
    site.path = repository_.path_of(site.where.file, folder);
    for (ShownFrame& shown : site.where.stack) shown.frame.file = repository_.path_of(shown.frame.file, folder);
    site.function = event.function;
  }
  const auto [known, is_first] = draft->second.sightings.try_emplace({event.stack, around}, site.sightings.size());
  if (is_first) known->second = start_sighting(event, around, site);
  Sighting& sighting = site.sightings[known->second];
  sighting.figures.add(event.figures);
  sighting.synchronising += event.synchronises ? 1 : 0;
  if (sighting.steps.empty() || sighting.steps.back().step != step) sighting.steps.push_back({step, 0});
  ++sighting.steps.back().calls;
}

std::size_t Observer::start_sighting(const Event& event, std::uint32_t around_number, ObservedSite& site) {
  const Surrounding& around = surroundings_[around_number];
  Sighting sighting;
  sighting.strict = around.strict;
  sighting.zone = around.zone;
  sighting.allow = allowed_by_range(event, around);
  // In a strict zone only what the program itself says inside of it counts.
  if (sighting.allow == kNotAllowed && !around.strict) sighting.allow = allowed_by_comment(event, site);
  if (sighting.allow == kNotAllowed && !around.strict) {
    const std::vector<ResolvedFrame> frames = resolve_stack(trace_, event.stack);
    sighting.allow = book_.find({event.rule->id, event.rule->name, event.other_rules, site.path, site.where.line, site.where.function, frames, around.ranges});
  }
  site.sightings.push_back(std::move(sighting));
  return site.sightings.size() - 1;
}

std::size_t Observer::allowed_by_range(const Event& event, const Surrounding& around) {
  for (const std::string& text : around.allows) {
    std::optional<AllowEntry> entry = parse_allow_range(text);
    if (!entry) continue;
    const bool fits = covers(*entry, {event.rule->id, event.rule->name, event.other_rules, {}, 0, {}, {}, {}});
    const bool has_reason = !entry->reason.empty();
    const std::size_t number = book_.add(std::move(*entry));
    if (!fits) continue;
    book_.use(number);
    if (has_reason) return number;
  }
  return kNotAllowed;
}

// On the line itself, or on a line of its own above it. The file must still have the line that ran.
std::size_t Observer::allowed_by_comment(const Event& event, const ObservedSite& site) {
  if (site.where.line == 0) return kNotAllowed;
  const std::optional<std::string> now = repository_.line_of(site.path, site.where.line);
  const bool is_same = now && (site.where.source.empty() || printable(shown_source_line(*now)) == site.where.source);
  std::uint32_t line = site.where.line;
  std::optional<AllowEntry> entry = parse_allow_comment(is_same ? *now : site.where.source);
  if (!entry && is_same) {
    const std::string above = repository_.line_of(site.path, --line).value_or("");
    const std::size_t begin = above.find_first_not_of(" \t");
    const std::string_view text = begin == std::string::npos ? std::string_view() : std::string_view(above).substr(begin);
    if (text.starts_with('#') || text.starts_with("//")) entry = parse_allow_comment(text);
  }
  if (!entry) return kNotAllowed;
  entry->file = site.path;
  entry->line = line;
  entry->reason = printable(entry->reason);
  const bool fits = covers(*entry, {event.rule->id, event.rule->name, event.other_rules, {}, 0, {}, {}, {}});
  const bool has_reason = !entry->reason.empty();
  const std::size_t number = book_.add(std::move(*entry));
  if (!fits) return kNotAllowed;
  book_.use(number);
  return has_reason ? number : kNotAllowed;
}

// Idle time of the steps where there are steps, else of all but the edges of the recording.
void add_idle(const Attribution& attribution, Observation& out) {
  Nanoseconds in_steps_ns = 0;
  for (const Step& step : attribution.steps.steps) {
    if (step.phase == Phase::kSteady || step.phase == Phase::kIrregular) in_steps_ns = add_saturated(in_steps_ns, step.length_ns);
  }
  for (const auto& [device, causes] : attribution.causes) {
    DeviceIdle idle{number(device), 0, in_steps_ns};
    Nanoseconds edges_ns = 0;
    for (const Cause& cause : causes) {
      if (cause.key.copying) continue;
      if (is_edge(cause.key.kind)) edges_ns += cause.idle_ns;
      if (in_steps_ns > 0)
        idle.idle_ns += cause.steady_ns + cause.irregular_ns;
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

Observation observe(const Trace& trace, const Attribution& attribution, const UserCode& user_code, const GateConfig& config,
                    const Repository& repository, AllowBook& book) {
  Observation out;
  out.trace = printable(trace.path);
  out.program = printable(fact(trace, "command_line"));
  out.level = printable(fact(trace, "level", trace.has_timeline() ? "timeline" : "syncs"));
  out.simulated = fact(trace, "simulated") == "1";
  out.has_timeline = trace.has_timeline();
  out.events = trace.calls.size() + trace.launches.size() + trace.polls.size();
  add_losses(trace, config.unfinished, out);
  Observer(trace, attribution, user_code, config, repository, book).run(out);
  add_idle(attribution, out);
  return out;
}

}  // namespace synctrace
