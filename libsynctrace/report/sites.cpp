// SPDX-License-Identifier: Apache-2.0
#include "report/sites.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "attribution/site.h"
#include "attribution/user_frame.h"
#include "attribution/wait_table.h"
#include "model/stacks.h"
#include "report/words.h"

namespace synctrace {
namespace {

// Sites that never wait are shown from here on.
constexpr Nanoseconds kLongSiteNs = 1'000'000;
// Fewer unsuccessful queries in a row are a glance, not a wait.
constexpr std::uint64_t kFewestQueriesOfAWait = 3;

// The user's line of each stack. Stacks that differ only above it, or in their threads, are one place.
class Places {
 public:
  explicit Places(const Trace& trace) : trace_(trace), user_code_(std::string(fact(trace, "executable"))) {}

  // A stack that stands for all stacks of the same place; zero when the place is not known.
  StackId representative(StackId stack) {
    const auto known = representatives_.find(stack);
    if (known != representatives_.end()) return known->second;
    const std::vector<ResolvedFrame> frames = resolve_stack(trace_, stack);
    const ChosenFrame chosen = choose_frame(frames, user_code_);
    StackId result{};
    if (chosen.basis != FrameBasis::kNone) {
      const ResolvedFrame& frame = frames[chosen.index];
      result = places_.try_emplace(std::tuple(frame.file, frame.line, frame.function), stack).first->second;
    }
    representatives_.emplace(stack, result);
    return result;
  }

  void describe(StackId stack, CallSite& site) const {
    std::vector<ResolvedFrame> frames = resolve_stack(trace_, stack);
    const ChosenFrame chosen = choose_frame(frames, user_code_);
    if (chosen.basis == FrameBasis::kNone) return;
    site.file = printable(frames[chosen.index].file);
    site.line = frames[chosen.index].line;
    site.caller = printable(frames[chosen.index].function);
    site.stack = std::move(frames);
  }

 private:
  const Trace& trace_;
  UserCode user_code_;
  std::unordered_map<StackId, StackId> representatives_;
  std::map<std::tuple<std::string, std::uint32_t, std::string>, StackId> places_;
};

CallSite start_site(const Trace& trace, const Call& call, bool creates_context) {
  CallSite site;
  site.rule = rule_of(call);
  site.function = printable(api_name(trace, call.api));
  if (is_copy(call.category)) {
    site.direction = direction_word(call.copy_kind);
    site.memory = memory_word(host_memory(call.copy_kind, call.source_memory, call.target_memory));
  }
  if (creates_context) site.note = "creates the context";
  return site;
}

void count_call(const Call& call, const Judgement& judgement, CallSite& site) {
  const WaitHabit habit = wait_habit(call);
  ++site.count;
  site.bytes += call.bytes;
  site.host_ns = add_saturated(site.host_ns, call.span.length_ns());
  site.longest_ns = std::max(site.longest_ns, call.span.length_ns());
  site.host_blocked_ns = add_saturated(site.host_blocked_ns, judgement.blocked_ns);
  if (call.status != 0) ++site.failed_count;
  if (judgement.basis == Basis::kLength) ++site.by_length_count;
  const bool may_wait = habit == WaitHabit::kExplicit || habit == WaitHabit::kMayWait;
  if ((may_wait && !judgement.creates_context) || judgement.verdict == Verdict::kBlocked) site.can_wait = true;
  switch (judgement.verdict) {
    case Verdict::kBlocked:
      ++site.blocked_count;
      break;
    case Verdict::kRedundant:
      ++site.redundant_count;
      break;
    case Verdict::kOwnWork:
      ++site.own_copy_count;
      break;
    case Verdict::kUnknown:
      ++site.unclear_count;
      break;
    case Verdict::kReturnedAtOnce:
      break;
  }
}

SiteVerdict verdict_of(const CallSite& site) {
  if (site.blocked_count == site.count) return SiteVerdict::kWaits;
  if (site.blocked_count > 0) return SiteVerdict::kSometimes;
  if (site.unclear_count > 0) return SiteVerdict::kUnclear;
  if (site.redundant_count > 0) return SiteVerdict::kRedundant;
  return site.own_copy_count > 0 ? SiteVerdict::kOwnCopy : SiteVerdict::kNoWait;
}

// Dearest first; the words only make the order of equals the same on every machine.
bool dearer(const CallSite& a, const CallSite& b) {
  return std::tuple(-a.host_blocked_ns, -a.host_ns, std::tie(a.function, a.direction, a.memory, a.file, a.line)) <
         std::tuple(-b.host_blocked_ns, -b.host_ns, std::tie(b.function, b.direction, b.memory, b.file, b.line));
}

bool is_covered(const Trace& trace, const Report& report, TimeSpan span) {
  return report.covers_all || in_window(trace, {span.begin_ns, span.begin_ns});
}

void add_call_sites(const Trace& trace, const Attribution& attribution, Report& report) {
  std::unordered_map<SiteKey, CallSite, SiteKeyHash> sites;
  Places places(trace);
  for (std::size_t row = 0; row < trace.calls.size(); ++row) {
    const Call& call = trace.calls[row];
    if (!is_covered(trace, report, call.span)) {
      ++report.left_out_calls;
      continue;
    }
    const Judgement& judgement = attribution.judgements[row];
    SiteKey key = site_of(call, judgement.creates_context);
    key.stack = places.representative(call.stack);
    auto site = sites.find(key);
    if (site == sites.end()) {
      site = sites.emplace(key, start_site(trace, call, judgement.creates_context)).first;
      places.describe(key.stack, site->second);
    }
    count_call(call, judgement, site->second);
  }
  for (auto& [key, site] : sites) {
    site.verdict = verdict_of(site);
    report.call_count += site.count;
    report.blocked_count += site.blocked_count;
    report.by_length_count += site.by_length_count;
    report.host_blocked_ns = add_saturated(report.host_blocked_ns, site.host_blocked_ns);
    if (site.can_wait)
      report.waits.push_back(std::move(site));
    else if (site.host_ns >= kLongSiteNs)
      report.long_calls.push_back(std::move(site));
  }
  std::sort(report.waits.begin(), report.waits.end(), dearer);
  std::sort(report.long_calls.begin(), report.long_calls.end(), dearer);
}

void add_poll_sites(const Trace& trace, Report& report) {
  std::unordered_map<ApiId, PollSite> sites;
  for (const Poll& poll : trace.polls) {
    if (!is_covered(trace, report, poll.span)) continue;
    PollSite& site = sites[poll.api];
    site.count += poll.count;
    site.not_ready_count += poll.not_ready_count;
    if (poll.not_ready_count < kFewestQueriesOfAWait) continue;
    ++site.waits;
    site.host_blocked_ns = add_saturated(site.host_blocked_ns, poll.span.length_ns());
  }
  for (auto& [api, site] : sites) {
    site.function = printable(api_name(trace, api));
    report.polls.push_back(std::move(site));
  }
  std::sort(report.polls.begin(), report.polls.end(), [](const PollSite& a, const PollSite& b) {
    return std::tie(b.host_blocked_ns, b.count, a.function) < std::tie(a.host_blocked_ns, a.count, b.function);
  });
}

}  // namespace

void add_sites(const Trace& trace, const Attribution& attribution, Report& report) {
  add_call_sites(trace, attribution, report);
  add_poll_sites(trace, report);
}

}  // namespace synctrace
