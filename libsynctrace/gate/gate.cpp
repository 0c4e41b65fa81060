// SPDX-License-Identifier: Apache-2.0
#include "gate/gate.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/quantity_text.h"
#include "gate/allow_limits.h"
#include "gate/complaints.h"
#include "gate/gate_words.h"

namespace synctrace {
namespace {

// Calls judged by their length alone are sometimes long because the machine was busy: a place at which fewer than one
// in so many was long, or a single one of several, is a warning.
constexpr std::uint64_t kRareByLength = 20;
constexpr std::uint64_t kSeveral = 4;

// The last waits of a loop have no work behind them: one in so many may cost idle time.
constexpr std::uint64_t kRareCost = 20;

// The calls of one site in one trace, added up.
struct Share {
  WaitFigures figures;
  std::map<std::uint32_t, std::uint64_t> steps;  // calls by step
  std::uint64_t synchronising = 0;
  std::string zone;
  std::string reason;
  bool any = false;

  void add(const WaitGroup& group, const std::string& its_zone) {
    any = true;
    figures.add(group.figures());
    synchronising += group.synchronising();
    for (const StepWaits& step : group.steps) steps[step.step] += step.figures.calls;
    if (zone.empty()) zone = its_zone;
  }

  // How many calls the step with the most has, and which step that is.
  std::pair<std::uint64_t, std::uint32_t> most_in_step() const {
    std::pair<std::uint64_t, std::uint32_t> most{0, kOutsideSteps};
    for (const auto& [step, calls] : steps) {
      if (calls > most.first) most = {calls, step};
    }
    return most;
  }
};

CountedIn counted_in(std::uint32_t step, const WaitSites& found) {
  if (step != kOutsideSteps) return CountedIn::kStep;
  return found.steps.empty() ? CountedIn::kRecording : CountedIn::kOutside;
}

bool is_weak(const WaitFigures& figures) {
  if (figures.waited != figures.waited_by_length) return false;
  return figures.waited * kRareByLength < figures.calls || (figures.waited == 1 && figures.calls >= kSeveral);
}

// The GPU had work meanwhile and for longer than the host needed to issue more: hardly any of the waits made it idle.
bool is_costless(const WaitFigures& figures) {
  return figures.costless > 0 && (figures.waited - figures.costless) * kRareCost <= figures.waited;
}

class Judge {
 public:
  Judge(std::span<const Observation> observations, const GateConfig& config, const AllowBook& book)
      : observations_(observations), config_(config), book_(book), limits_(observations, book) {}

  // Findings by place, with the traces' figures added up.
  std::vector<Finding> find() {
    for (const Observation& seen : observations_) {
      for (const GateCallSite& site : seen.sites) judge_site(seen, site);
    }
    std::vector<Finding> findings;
    for (auto& [key, finding] : findings_) findings.push_back(std::move(finding));
    return findings;
  }

 private:
  using Key = std::tuple<std::string, std::uint32_t, std::string, std::string, std::string, int, std::string>;

  void judge_site(const Observation& seen, const GateCallSite& site) {
    std::map<std::string, Share> strict;  // by zone
    Share unexpected;
    Share allowed;
    for (std::size_t i = 0; i < site.allowed.size(); ++i) {
      const WaitGroup& group = site.calls.groups[i];
      const Surrounding& around = seen.around(group);
      const std::size_t entry = site.allowed[i];
      const bool is_allowed = entry != kNotAllowed && !limits_.is_exceeded(entry);
      const bool is_strict = around.strict && group.synchronising() > 0;
      Share& share = is_allowed ? allowed : is_strict ? strict[around.zone] : unexpected;
      share.add(group, around.zone);
      if (entry != kNotAllowed && share.reason.empty())
        share.reason = is_allowed ? book_.entries()[entry].reason : limits_.sentence(entry);
    }
    for (const auto& [zone, share] : strict) put(seen, site, share, FindingStatus::kNew, GateLevel::kError, true);
    const GateLevel level = config_.level_of(site.calls.rule->id, site.calls.rule->name);
    if (unexpected.any && level != GateLevel::kOff) put_unexpected(seen, site, unexpected, level);
    if (allowed.any) put(seen, site, allowed, FindingStatus::kAllowed, GateLevel::kNote, false);
  }

  void put_unexpected(const Observation& seen, const GateCallSite& site, const Share& share, GateLevel level) {
    const bool waits = share.figures.waited > 0 && !is_weak(share.figures);
    const bool perhaps = share.figures.waited > 0 || share.figures.unclear > 0;
    if (waits && is_costless(share.figures))
      put(seen, site, share, FindingStatus::kHarmless, GateLevel::kNote, false);
    else if (waits)
      put(seen, site, share, FindingStatus::kNew, level, false);
    else if (perhaps)
      put(seen, site, share, FindingStatus::kNew, std::min(level, GateLevel::kWarning), false);
    else
      put(seen, site, share, FindingStatus::kHarmless, GateLevel::kNote, false);
  }

  void put(const Observation& seen, const GateCallSite& site, const Share& share, FindingStatus status, GateLevel level,
           bool strict) {
    const SourceLine& where = site.calls.where;
    const Rule& rule = *site.calls.rule;
    const std::string function = where.known() ? std::string() : site.function;
    const int sort = status == FindingStatus::kAllowed ? 2 : strict ? 1 : 0;
    const auto [known, is_new] = findings_.try_emplace({site.path, where.line, where.function, std::string(rule.id),
                                                        function, sort, strict ? share.zone : std::string()});
    Finding& finding = known->second;
    if (is_new) {
      finding.status = status;
      finding.level = level;
      finding.rule_id = rule.id;
      finding.rule_name = rule.name;
      finding.where = where;
      finding.path = site.path;
      finding.function = site.function;
      finding.strict = strict;
      finding.zone = share.zone;
      finding.reason = share.reason;
    }
    // If several traces have it, the gravest counts.
    if (status == FindingStatus::kNew && (finding.status != FindingStatus::kNew || level > finding.level)) {
      finding.status = status;
      finding.level = level;
    }
    for (const WaitGroup& group : site.calls.groups) {
      if (group.caller.known()) add_line(group.caller, finding.callers);
    }
    finding.figures.add(share.figures);
    const auto [calls, step] = share.most_in_step();
    if (calls > finding.per_step) {
      finding.per_step = calls;
      finding.counted_in = counted_in(step, seen.found);
    }
    finding.steps += share.steps.size();
    const auto trace = static_cast<std::size_t>(&seen - observations_.data());
    if (finding.shares.empty() || finding.shares.back().trace != trace) finding.shares.push_back({trace, 0, false});
    FindingShare& of_trace = finding.shares.back();
    of_trace.per_step = std::max(of_trace.per_step, calls);
    of_trace.is_new = of_trace.is_new || status == FindingStatus::kNew;
  }

  std::span<const Observation> observations_;
  const GateConfig& config_;
  const AllowBook& book_;
  AllowLimits limits_;
  std::map<Key, Finding> findings_;
};

void add_ranks(const GateJob& job, std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    for (const FindingShare& share : finding.shares) {
      const bool counts = finding.status != FindingStatus::kNew || share.is_new;
      if (counts && job.labels[share.trace] != kNoJobRank) finding.ranks.push_back(job.labels[share.trace]);
    }
    std::sort(finding.ranks.begin(), finding.ranks.end());
  }
}

// Equal lines of one function are numbered from above.
void add_fingerprints(std::vector<Finding>& findings) {
  std::map<Fingerprint, std::uint32_t> numbers;
  for (Finding& finding : findings) {  // by path and line
    const std::string& text = finding.where.source.empty() ? finding.function : finding.where.source;
    finding.fingerprint = {finding.rule_id, finding.path, finding.where.function, line_text_hash(text), 1};
    const bool waits = finding.status == FindingStatus::kNew || finding.status == FindingStatus::kAllowed;
    if (waits && !finding.strict) finding.fingerprint.ordinal = ++numbers[finding.fingerprint];
  }
}

void apply_baseline(const Baseline& baseline, const Repository& repository, GateResult& result) {
  std::vector<Fingerprint> found;
  std::vector<Finding*> rows;
  for (Finding& finding : result.findings) {
    if (finding.status != FindingStatus::kNew || finding.strict) continue;
    found.push_back(finding.fingerprint);
    rows.push_back(&finding);
  }
  const auto is_gone = [&](const std::string& file) { return !repository.has_file(file); };
  const std::vector<std::size_t> matches = match_baseline(baseline, found, is_gone);
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const BaselineEntry& entry = baseline.entries[i];
    if (matches[i] == kNoMatch) {
      result.gone.push_back(entry);
      continue;
    }
    Finding& finding = *rows[matches[i]];
    if (entry.per_step == 0 || finding.per_step <= entry.per_step)
      finding.status = FindingStatus::kBaseline;
    else
      finding.reason = "the baseline has " + count_text(entry.per_step) + " a step";
  }
}

bool is_unexpected(const Finding& finding) {
  return finding.status == FindingStatus::kNew && finding.level == GateLevel::kError && !finding.strict;
}

// The most unexpected calls of one step of one process, over all places that are errors.
std::uint64_t most_unexpected(std::span<const Finding> findings) {
  std::map<std::size_t, std::uint64_t> by_trace;
  std::uint64_t most = 0;
  for (const Finding& finding : findings) {
    if (!is_unexpected(finding)) continue;
    for (const FindingShare& share : finding.shares) {
      if (share.is_new) most = std::max(most, by_trace[share.trace] += share.per_step);
    }
  }
  return most;
}

void apply_sync_budget(const GateConfig& config, GateResult& result) {
  if (config.max_unexpected_per_step == 0) return;
  const std::uint64_t most = most_unexpected(result.findings);
  if (most == 0) return;
  const bool in_all = std::none_of(result.findings.begin(), result.findings.end(), [](const Finding& finding) {
    return is_unexpected(finding) && finding.counted_in == CountedIn::kStep;
  });
  const std::string sum =
      "up to " + count_text(most) + " unexpected synchronisations " + (in_all ? "in all" : "in a step");
  if (most > config.max_unexpected_per_step) {
    result.complaints.push_back({"max-unexpected-syncs-per-step",
                                 GateLevel::kError,
                                 {},
                                 0,
                                 sum + ", more than " + count_text(config.max_unexpected_per_step),
                                 false});
    return;
  }
  for (Finding& finding : result.findings) {
    if (is_unexpected(finding)) finding.level = GateLevel::kWarning;
  }
  result.remarks.push_back(sum + ", within the budget of " + count_text(config.max_unexpected_per_step));
}

void sort_findings(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    const auto key = [](const Finding& finding) {
      return std::tuple(finding.status, -static_cast<int>(finding.level),
                        std::tie(finding.path, finding.where.line, finding.rule_id, finding.where.function));
    };
    return key(a) < key(b);
  });
}

bool mark_failures(const GateConfig& config, GateResult& result) {
  bool any = false;
  for (Finding& finding : result.findings) {
    finding.fails = finding.status == FindingStatus::kNew && config.fails(finding.level);
    any = any || finding.fails;
  }
  for (Complaint& complaint : result.complaints) {
    complaint.fails = config.fails(complaint.level);
    any = any || complaint.fails;
  }
  return any;
}

void add_traces(std::span<const Observation> observations, GateResult& result) {
  for (const Observation& seen : observations) {
    const WaitSites& found = seen.found;
    const std::int64_t rank = result.job ? result.job->labels[result.traces.size()] : kNoJobRank;
    result.traces.push_back({found.trace, rank, found.program, found.level, found.step_source, found.step_name,
                             found.doubted_steps, found.steps.size(), seen.judged_steps, seen.judged_calls,
                             found.simulated, found.has_timeline});
    for (const Zone& zone : found.zones) {
      const auto known = std::find_if(result.zones.begin(), result.zones.end(),
                                      [&](const Zone& other) { return other.name == zone.name; });
      Zone& sum = known == result.zones.end() ? result.zones.emplace_back(Zone{zone.name, 0, 0}) : *known;
      sum.count += zone.count;
      sum.open += zone.open;
    }
  }
}

}  // namespace

std::string_view status_word(FindingStatus status) noexcept {
  switch (status) {
    case FindingStatus::kNew: return "new";
    case FindingStatus::kAllowed: return "allowed";
    case FindingStatus::kBaseline: return "baseline";
    case FindingStatus::kHarmless: return "harmless";
  }
  return "new";
}

std::size_t GateResult::count(FindingStatus wanted) const noexcept {
  return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(),
                                                [&](const Finding& finding) { return finding.status == wanted; }));
}

std::size_t GateResult::count_new(GateLevel level) const noexcept {
  return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.status == FindingStatus::kNew && finding.level == level;
  }));
}

GateResult judge(std::span<const Observation> observations, const GateConfig& config, const AllowBook& book,
                 const Baseline* baseline, const Repository& repository) {
  GateResult result;
  result.job = find_job(observations);
  add_traces(observations, result);
  result.findings = Judge(observations, config, book).find();
  if (result.job) add_ranks(*result.job, result.findings);
  add_fingerprints(result.findings);
  if (baseline != nullptr) apply_baseline(*baseline, repository, result);
  apply_sync_budget(config, result);
  for (Finding& finding : result.findings) finding.message = finding_message(finding);
  sort_findings(result.findings);
  add_complaints(observations, config, book, result);
  if (mark_failures(config, result))
    result.status = GateStatus::kFail;
  else if (!result.nothing.empty())
    result.status = GateStatus::kNothing;
  return result;
}

}  // namespace synctrace
