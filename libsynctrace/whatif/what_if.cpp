// SPDX-License-Identifier: Apache-2.0
#include "whatif/what_if.h"

#include <algorithm>
#include <map>
#include <utility>

#include "attribution/attribute.h"
#include "base/shares.h"
#include "whatif/bounds.h"
#include "whatif/build_program.h"
#include "whatif/kernel_changes.h"
#include "whatif/order.h"

namespace synctrace {
namespace {

constexpr Share kLeastCost = {1, 500};  // share of the time: cheaper sites are not looked at
constexpr std::size_t kMostCandidates = 64;
constexpr Share kAbsorbed = percent(50);

struct Cost {
  Nanoseconds idle_ns = 0;
  Nanoseconds uncertain_ns = 0;
};

// The share of the time that passed before work that started late for unknown reasons.
double unexplained_share(const ReplayProgram& program, const Evaluator& evaluator, Nanoseconds base_ns) {
  const double sum = evaluator.sum_over_counted([&](const ReplayEvent& event) {
    const WorkWeights* work = program.events.work(event);
    return work == nullptr ? 0.0 : static_cast<double>(work->delay);
  });
  return sum / static_cast<double>(std::max<Nanoseconds>(1, base_ns));
}

class Study {
 public:
  Study(const Attribution& attribution, const PlaceOf& place_of, const WhatIfOptions& options)
      : attribution_(attribution), place_of_(place_of), options_(options) {}

  WhatIf run();

 private:
  std::string refusal_of(const ReplayProgram& program) const;
  bool lacks_calls() const;
  bool reproduces(const ReplayProgram& program, const Outcome& outcome) const;
  double uncertain_share(bool by_steps) const;
  std::uint16_t site_of(CauseKind kind, const CallSiteKey& at) const;
  std::map<std::uint16_t, Nanoseconds> costs() const;
  FixSet candidates(const Bounds& bounds) const;
  void find_savings(const Bounds& bounds, FixSet sites);
  void find_absorber(const Bounds& bounds, const TrialResult& fixed, Saving& saving) const;
  void find_order(const Evaluator& evaluator, const Bounds& bounds);
  void find_groups(const ReplayProgram& program, const Evaluator& evaluator, const Bounds& bounds);
  std::vector<FixSet> rows_of(const FixSet& order, const Evaluator& evaluator, const Bounds& bounds) const;
  std::vector<FixStep> confirmed(const std::vector<FixSet>& rows, const Bounds& bounds) const;

  const Attribution& attribution_;
  const PlaceOf& place_of_;
  const WhatIfOptions& options_;
  WhatIf result_;
};

// Before the first compiled launch of each step stands what its calls cost once.
void mark_what_stays(const WhatIfOptions& options, ReplayProgram& program) {
  if (!options.what_stays) return;
  for (FixSite& site : program.sites) site.stays = options.what_stays(site);
  bool is_due = false;
  for (const ReplayEvent& head : program.events) {
    if (head.kind == EventKind::kStep) is_due = true;
    if (!is_due || head.kind != EventKind::kHost || !program.sites[head.site].stays.is_compiled) continue;
    program.events.of<HostEvent>(head).fixed_pre += options.compiled_each_step;
    is_due = false;
  }
}

WhatIf Study::run() {
  if (!attribution_.evidence->trace.has_timeline()) {
    result_.refusal = "no GPU timeline was recorded";
    return std::move(result_);
  }
  ReplayProgram program = build_program(attribution_, place_of_, nullptr, options_.graph_range, options_.what_goes);
  mark_what_stays(options_, program);
  result_.graph_site = program.graph_site;
  result_.waits_in_graph = program.waits_in_graph;
  result_.sites = program.sites;
  result_.refusal = refusal_of(program);
  if (!result_.refusal.empty()) return std::move(result_);
  const Evaluator evaluator(program, attribution_.steps);
  const Bounds bounds(evaluator, uncertain_share(evaluator.by_steps()));
  const Outcome recorded = replay(program, Scenarios(program));
  if (!reproduces(program, recorded)) {
    result_.refusal =
        "the recorded times could not be reproduced (a bug of synctrace: please report it with the trace)";
    return std::move(result_);
  }
  result_.by_steps = evaluator.by_steps();
  result_.steps = evaluator.by_steps() ? evaluator.counted_steps() : 0;
  result_.base_ns = bounds.base_ns();
  result_.base_lo_ns = bounds.base_range().begin_ns;
  result_.base_hi_ns = bounds.base_range().end_ns;
  result_.recorded_ns = evaluator.recorded_ns(recorded);
  result_.unexplained_share = unexplained_share(program, evaluator, result_.base_ns);
  if (result_.base_ns <= 0) {
    result_.refusal = "no GPU work was recorded";
    return std::move(result_);
  }
  find_savings(bounds, candidates(bounds));
  find_order(evaluator, bounds);
  if (options_.group_of) find_groups(program, evaluator, bounds);
  add_kernel_changes(options_.kernel_changes, program, bounds, result_.groups);
  if (options_.sets_of)
    result_.sets = group_sets(options_.kernel_changes, program, bounds, result_.groups, options_.sets_of(result_));
  if (options_.asked) {
    result_.choices = options_.asked(result_.sites);
    result_.asked_sites = take_ways(evaluator, bounds.least_gain_ns(), result_.choices);
    result_.asked = bounds.savings({&result_.asked_sites, 1}).front();
  }
  return std::move(result_);
}

std::string Study::refusal_of(const ReplayProgram& program) const {
  constexpr std::uint64_t kFewestViolations = 3;
  constexpr Share kMostViolations = {1, 1'000};  // share of the edges
  const Trace& trace = attribution_.evidence->trace;
  if (!program.refusal.empty()) return program.refusal;
  if (program.events.empty() || trace.operations.empty()) return "no GPU work was recorded";
  if (trace.stats.count(kLossClockUnusable) > 0) return "the clocks of host and GPU disagree";
  if (program.violations >= kFewestViolations && ratio(program.violations, program.edges) > kMostViolations) {
    return "recorded times contradict each other: work began before its call, or a wait returned before its work was "
           "over";
  }
  if (lacks_calls()) return "too much GPU work has no recorded call";
  return {};
}

// For the work that counts. Work that was queued before a recording began has no call in it, and belongs to no step
// after its warm-up.
bool Study::lacks_calls() const {
  const Evidence& evidence = *attribution_.evidence;
  const std::vector<Operation>& operations = evidence.trace.operations;
  const std::vector<Step>& steps = attribution_.steps.steps;
  const auto first =
      std::find_if(steps.begin(), steps.end(), [](const Step& s) { return s.kind != StepKind::kWarmUp; });
  const Nanoseconds from_ns = first == steps.end() ? kNeverNs : first->host.begin_ns;
  std::uint64_t counted = 0;
  std::uint64_t unmatched = 0;
  for (std::uint32_t row = 0; row < operations.size(); ++row) {
    if (evidence.correlation.issued_ns(row) < from_ns) continue;
    ++counted;
    if (!evidence.correlation.issuer_of(row)) ++unmatched;
  }
  return ratio(unmatched, counted) > percent(10);
}

bool Study::reproduces(const ReplayProgram& program, const Outcome& outcome) const {
  const Steps& steps = attribution_.steps;
  if (outcome.end.at[0] != program.end_ns) return false;
  const std::vector<StepMarks> marks = step_marks(steps.steps);
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const Step& step = steps.steps[i];
    if (step.done_ns > 0 && outcome.steps[marks[i].end].at[0] != step.done_ns) return false;
  }
  return true;
}

// The share of the counted idle time that is known with low confidence only.
double Study::uncertain_share(bool by_steps) const {
  Nanoseconds idle_ns = 0;
  Nanoseconds uncertain_ns = 0;
  for (const auto& [device, causes] : attribution_.causes) {
    for (const Cause& cause : causes) {
      if (is_edge(cause.key.kind)) continue;
      const Nanoseconds low_ns = cause.by_confidence[static_cast<std::size_t>(Confidence::kLow)];
      idle_ns = add_saturated(idle_ns, by_steps ? cause.steady_ns : cause.idle_ns);
      uncertain_ns = add_saturated(uncertain_ns, by_steps ? cause.uncertain_in_steps_ns : low_ns);
    }
  }
  return idle_ns == 0 ? 0 : static_cast<double>(uncertain_ns) / static_cast<double>(idle_ns);
}

// The site of a cause, or that of all that is done at its place where all of it goes.
std::uint16_t Study::site_of(CauseKind kind, const CallSiteKey& at) const {
  const FixKey key = fix_key_of_cause(kind, place_of_(at.stack), place_of_(at.until), at.api, at.host_call);
  if (const std::uint16_t site = result_.find(key); site != 0 || key.family == FixFamily::kNone) return site;
  const std::uint16_t all = result_.find(key_of_all(key.place));
  return result_.sites[all].fix == Fix::kDropCall ? all : std::uint16_t{0};
}

// Idle time caused, by site. The host may take memory behind a wait, and gain from it by itself.
std::map<std::uint16_t, Nanoseconds> Study::costs() const {
  std::map<std::uint16_t, Nanoseconds> costs;
  for (const auto& [device, causes] : attribution_.causes) {
    for (const Cause& cause : causes) {
      const Nanoseconds idle_ns = result_.by_steps ? cause.steady_ns : cause.idle_ns;
      Nanoseconds& cost = costs[site_of(cause.key.kind, cause.key.site)];
      cost = add_saturated(cost, idle_ns);
      if (!cause.key.drained || cause.key.activity_kind != CauseKind::kAllocation) continue;
      Nanoseconds& behind = costs[site_of(CauseKind::kAllocation, cause.key.activity)];
      behind = add_saturated(behind, idle_ns);
    }
  }
  return costs;
}

// The sites that cost the GPU time, and those at which the host waits as long: what they cost may show only when
// another one is fixed.
FixSet Study::candidates(const Bounds& bounds) const {
  std::map<std::uint16_t, Nanoseconds> cost = costs();
  for (std::uint16_t site = 1, end = site_count(result_.sites); site < end; ++site) {
    if (result_.sites[site].key.family == FixFamily::kWait || result_.sites[site].fix == Fix::kDropCall)
      cost[site] = std::max(cost[site], bounds.base().waited[site]);
  }
  const auto least_ns = static_cast<Nanoseconds>(kLeastCost.of(static_cast<double>(result_.base_ns)));
  FixSet sites;
  for (const auto& [site, ns] : cost) {
    const bool ours = result_.sites[site].fix == Fix::kNoProfiler;  // gone in every prediction
    if (site != 0 && !ours && ns >= least_ns && ns > 0) sites.push_back(site);
  }
  std::stable_sort(sites.begin(), sites.end(),
                   [&](std::uint16_t a, std::uint16_t b) { return cost.at(a) > cost.at(b); });
  if (sites.size() > kMostCandidates) sites.resize(kMostCandidates);
  return sites;
}

// Where the wait goes: the site at which the host then waits longer, by most.
void Study::find_absorber(const Bounds& bounds, const TrialResult& fixed, Saving& saving) const {
  if (result_.sites[saving.site].key.family != FixFamily::kWait &&
      result_.sites[saving.site].key.family != FixFamily::kMemory)
    return;
  for (std::uint16_t site = 1, end = site_count(result_.sites); site < end; ++site) {
    const Nanoseconds growth_ns = fixed.waited[site] - bounds.base().waited[site];
    if (site == saving.site || growth_ns <= saving.moved_ns) continue;
    saving.moved_ns = growth_ns;
    saving.moves_to = site;
  }
  const Nanoseconds whole_ns = bounds.base().waited[saving.site];
  if (static_cast<double>(saving.moved_ns) >= kAbsorbed.of(static_cast<double>(whole_ns)) && saving.moved_ns > 0)
    return;
  saving.moves_to = 0;
  saving.moved_ns = 0;
}

void Study::find_savings(const Bounds& bounds, FixSet sites) {
  // Twice: a wait may move to a site that cost nothing so far.
  for (int round = 0; round < 2 && !sites.empty(); ++round) {
    std::vector<FixSet> sets;
    for (const std::uint16_t site : sites) sets.push_back({site});
    std::vector<TrialResult> details;
    const std::vector<Interval> intervals = bounds.savings(sets, &details);
    FixSet absorbers;
    for (std::size_t i = 0; i < sites.size(); ++i) {
      Saving saving{sites[i], result_.sites[sites[i]].fix, intervals[i], intervals[i].ns, 0, 0};
      if (saving.fix == Fix::kNone) saving.alone = {};
      find_absorber(bounds, details[i], saving);
      if (saving.moves_to != 0) absorbers.push_back(saving.moves_to);
      result_.savings.push_back(saving);
    }
    sites.clear();
    for (const std::uint16_t site : absorbers) {
      const bool known = result_.of_site(site) != nullptr || std::find(sites.begin(), sites.end(), site) != sites.end();
      if (!known && result_.savings.size() + sites.size() < kMostCandidates) sites.push_back(site);
    }
  }
  std::stable_sort(result_.savings.begin(), result_.savings.end(),
                   [](const Saving& a, const Saving& b) { return a.alone.ns > b.alone.ns; });
}

void Study::find_order(const Evaluator& evaluator, const Bounds& bounds) {
  FixSet legal;
  std::vector<Absorption> absorptions;
  for (const Saving& saving : result_.savings) {
    if (saving.fix == Fix::kNone) continue;
    legal.push_back(saving.site);
    const Nanoseconds waited_ns = std::max<Nanoseconds>(1, bounds.base().waited[saving.site]);
    if (saving.moves_to != 0)
      absorptions.push_back(
          {saving.site, saving.moves_to, static_cast<double>(saving.moved_ns) / static_cast<double>(waited_ns)});
  }
  if (legal.empty()) return;
  result_.all = bounds.savings({&legal, 1}).front();
  result_.order = confirmed(rows_of(order_of(evaluator, legal, absorptions), evaluator, bounds), bounds);
}

// One row for each fix that gains by itself where it stands; fixes that gain nothing before a later one do are one row
// with it, and those that never gain are none.
std::vector<FixSet> Study::rows_of(const FixSet& order, const Evaluator& evaluator, const Bounds& bounds) const {
  std::vector<FixSet> prefixes;
  for (std::size_t i = 1; i <= order.size(); ++i)
    prefixes.emplace_back(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i));
  const std::vector<Nanoseconds> times = evaluator.times(evaluator.whole(), prefixes);
  const Nanoseconds least_ns = std::max<Nanoseconds>(1, bounds.least_gain_ns());
  std::vector<FixSet> rows;
  FixSet done;
  FixSet waiting;
  Nanoseconds now_ns = bounds.base_ns();
  for (std::size_t i = 0; i < order.size(); ++i) {
    waiting.push_back(order[i]);
    if (now_ns - times[i] < least_ns) continue;
    leave_out_the_needless(done, waiting.size() - 1, waiting, evaluator);  // the last one is what made it a gain
    done.insert(done.end(), waiting.begin(), waiting.end());
    rows.push_back(std::exchange(waiting, {}));
    now_ns = times[i];
  }
  return rows;
}

// The rows with what they save, as far as it is a gain.
std::vector<FixStep> Study::confirmed(const std::vector<FixSet>& rows, const Bounds& bounds) const {
  std::vector<FixSet> sets;
  FixSet set;
  for (const FixSet& row : rows) {
    set.insert(set.end(), row.begin(), row.end());
    sets.push_back(set);
  }
  const std::vector<Interval> cumulative = bounds.savings(sets);
  std::vector<FixStep> steps;
  Interval before;
  for (std::size_t i = 0; i < rows.size() && cumulative[i].grade != Grade::kNone; ++i) {
    FixStep& step = steps.emplace_back();
    step.sites = rows[i];
    step.cumulative = cumulative[i];
    step.marginal = more(before, cumulative[i]);
    before = cumulative[i];
  }
  return steps;
}

void Study::find_groups(const ReplayProgram& program, const Evaluator& evaluator, const Bounds& bounds) {
  std::vector<Candidate> candidates;
  for (const Saving& saving : result_.savings) {
    const double share = static_cast<double>(saving.alone.ns) / static_cast<double>(bounds.base_ns());
    if (saving.fix != Fix::kNone) candidates.push_back({saving.site, share});
  }
  std::vector<FixSet> groups = groups_in_order(evaluator, program, candidates, options_.group_of);
  if (groups.empty()) return;
  std::vector<Interval> alone = bounds.savings(groups);
  // The order is of a sample of the steps. First comes what saves most of all of them.
  const auto saves_less = [](const Interval& a, const Interval& b) { return a.ns < b.ns; };
  const auto best = std::max_element(alone.begin(), alone.end(), saves_less) - alone.begin();
  std::rotate(groups.begin(), groups.begin() + best, groups.begin() + best + 1);
  std::rotate(alone.begin(), alone.begin() + best, alone.begin() + best + 1);
  if (!options_.kernel_changes.empty()) {  // these come between, and all are put together anew
    for (std::size_t i = 0; i < groups.size(); ++i) result_.groups.push_back({groups[i], alone[i], {}, {}, {}});
    return;
  }
  std::vector<FixSet> together;
  FixSet done;
  for (const FixSet& group : groups) {
    done.insert(done.end(), group.begin(), group.end());
    together.push_back(done);
  }
  const std::vector<Interval> cumulative = bounds.savings(together);
  Interval before;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    result_.groups.push_back({groups[i], alone[i], more(before, cumulative[i]), cumulative[i], {}});
    before = cumulative[i];
  }
}

}  // namespace

const Saving* WhatIf::of_site(std::uint16_t site) const noexcept {
  const auto found =
      std::find_if(savings.begin(), savings.end(), [&](const Saving& saving) { return saving.site == site; });
  return found == savings.end() ? nullptr : &*found;
}

std::uint16_t WhatIf::find(const FixKey& key) const noexcept {
  if (key.family == FixFamily::kNone) return 0;
  const auto found = std::find_if(sites.begin(), sites.end(), [&](const FixSite& site) { return site.key == key; });
  return found == sites.end() ? std::uint16_t{0} : static_cast<std::uint16_t>(found - sites.begin());
}

WhatIf what_if(const Attribution& attribution, const PlaceOf& place_of, const WhatIfOptions& options) {
  return Study(attribution, place_of, options).run();
}

}  // namespace synctrace
