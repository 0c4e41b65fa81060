// SPDX-License-Identifier: Apache-2.0
#include "attribution/sync_test.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "attribution/call_site_key.h"
#include "attribution/wait_table.h"
#include "model/tolerances.h"

namespace synctrace {
namespace {

// The slowest transfer that counts as ordinary, for calls judged by length: an old link from pageable memory.
constexpr std::uint64_t kSlowestBytesPerMicrosecond = 2'000;

bool is_pageable_download(const Call& call) noexcept {
  return is_copy(call.category) && goes_to_host(call.copy_kind) &&
         host_memory(call.copy_kind, call.source_memory, call.target_memory) == MemoryKind::kPageable;
}

class Judge {
 public:
  Judge(const Trace& trace, const std::vector<Outstanding>& outstanding, const Calibration& calibration)
      : trace_(trace),
        outstanding_(outstanding),
        calibration_(calibration),
        latest_return_ns_(calibration.return_latency.p90_ns + kOutstandingMarginNs) {
    for (const Resource& resource : trace.resources) {
      if (resource.what != format::Resource::What::kContextCreated) continue;
      contexts_created_[resource.thread].push_back(resource.time_ns);
    }
    for (const auto& [key, stream] : trace.streams) {
      may_pass_others_ = may_pass_others_ || (stream.flags & format::Stream::kNonBlocking) != 0;
    }
  }

  Judgement judge(std::size_t row) const {
    const Call& call = trace_.calls[row];
    const WaitHabit habit = wait_habit(call);
    if (creates_context(call)) return {Verdict::kReturnedAtOnce, Basis::kTimeline, true, false, 0, 0};
    if (!in_window(trace_, call.span)) return by_length(call, habit);
    const Outstanding& out = outstanding_[row];
    Judgement judgement = habit == WaitHabit::kExplicit ? explicit_wait(call, out) : hidden_wait(call, out, habit);
    judgement.met_work = out.last_end_ns > call.span.begin_ns + kOutstandingMarginNs;
    return judgement;
  }

 private:
  Judgement explicit_wait(const Call& call, const Outstanding& out) const;
  Judgement hidden_wait(const Call& call, const Outstanding& out, WaitHabit habit) const;
  Judgement by_length(const Call& call, WaitHabit habit) const;

  Judgement blocked(const Call& call, Nanoseconds work_end_ns) const {
    const Nanoseconds woken_ns = std::max(work_end_ns, call.span.begin_ns) + calibration_.return_latency.p50_ns;
    const Nanoseconds waited_ns = std::clamp(work_end_ns, call.span.begin_ns, call.span.end_ns) - call.span.begin_ns;
    return {Verdict::kBlocked,
            Basis::kTimeline,
            false,
            true,
            waited_ns,
            std::min(call.span.end_ns, woken_ns) - call.span.begin_ns};
  }

  // Some stream was busy well into the call, and the call returned just after that stream's end.
  bool returned_with_work(const Call& call, const Outstanding& out, Nanoseconds latest_return_ns) const {
    return out.end_before_return_ns > call.span.begin_ns + kOutstandingMarginNs &&
           call.span.end_ns - out.end_before_return_ns <= latest_return_ns;
  }

  bool is_long(const Call& call, Nanoseconds cost_ns) const {
    return call.span.length_ns() > kLongCallFactor * cost_ns;
  }

  bool creates_context(const Call& call) const;
  bool waits_by_table(const Call& call) const noexcept;
  bool timeline_may_lack_work(const Call& call, const Outstanding& out) const;

  const Trace& trace_;
  const std::vector<Outstanding>& outstanding_;
  const Calibration& calibration_;
  Nanoseconds latest_return_ns_;
  bool may_pass_others_ = false;  // there are streams that the legacy default stream does not wait for
  std::unordered_map<ThreadId, std::vector<Nanoseconds>> contexts_created_;  // when, in order
};

// A context that came to be inside a call explains the length of the call.
bool Judge::creates_context(const Call& call) const {
  const auto thread = contexts_created_.find(call.thread);
  if (thread == contexts_created_.end()) return false;
  const auto created = std::lower_bound(thread->second.begin(), thread->second.end(), call.span.begin_ns);
  return created != thread->second.end() && *created <= call.span.end_ns;
}

// A download to pageable memory waits for the work before it in its stream, and hides that in its length. A blocking
// copy is in the legacy default stream: which work is before it there is known where no stream is apart.
bool Judge::waits_by_table(const Call& call) const noexcept {
  if (!is_pageable_download(call)) return false;
  return call.category == ApiCategory::kCopyAsync || !may_pass_others_;
}

// Work issued before a window opened is not in the trace: until the first recorded work, a wait may be for that.
bool Judge::timeline_may_lack_work(const Call& call, const Outstanding& out) const {
  const auto after = std::upper_bound(trace_.windows.begin(), trace_.windows.end(), call.span.begin_ns,
                                      [](Nanoseconds t, const Window& window) { return t < window.span.begin_ns; });
  if (after == trace_.windows.begin()) return true;
  const Window& window = *std::prev(after);
  return window.open_reason != "start" && out.last_end_ns < window.span.begin_ns;
}

Judgement Judge::explicit_wait(const Call& call, const Outstanding& out) const {
  if (out.target_known && out.target_end_ns > call.span.begin_ns) {
    if (call.span.end_ns + kClockSkewNs >= out.target_end_ns) return blocked(call, out.target_end_ns);
    if (returned_with_work(call, out, latest_return_ns_)) return blocked(call, out.end_before_return_ns);
    return {};  // it returned before its work was over: not this work, then
  }
  const Nanoseconds cost_ns = calibration_.cost_of(call.api, call.category).p50_ns;
  if (is_long(call, cost_ns)) {
    if (returned_with_work(call, out, latest_return_ns_)) return blocked(call, out.end_before_return_ns);
    if (timeline_may_lack_work(call, out)) return by_length(call, WaitHabit::kExplicit);
    if (!out.target_known && out.last_end_ns > call.span.begin_ns) return {};
  }
  return {Verdict::kRedundant};
}

Judgement Judge::hidden_wait(const Call& call, const Outstanding& out, WaitHabit habit) const {
  const bool met_work = out.last_end_ns > call.span.begin_ns + kOutstandingMarginNs;
  const Quantiles cost = calibration_.cost_of(call.api, call.category);
  if (out.has_own) {
    const bool queued = out.end_before_own_ns > call.span.begin_ns + kOutstandingMarginNs &&
                        (out.own_in_order || out.own.begin_ns - out.end_before_own_ns <= latest_return_ns_);
    // A small pageable upload waits for the stream, stages its bytes and returns a moment before its own copy starts.
    if (queued && call.span.end_ns + kClockSkewNs >= out.end_before_own_ns) {
      const bool saw_it_end = call.span.end_ns + kClockSkewNs >= out.own.end_ns;
      return blocked(call, saw_it_end ? out.own.end_ns : out.end_before_own_ns);
    }
    return {call.span.end_ns + kClockSkewNs >= out.own.end_ns ? Verdict::kOwnWork : Verdict::kReturnedAtOnce};
  }
  if (!met_work) return {Verdict::kReturnedAtOnce};
  if (habit == WaitHabit::kMayWait) {
    const bool outlived_all = out.last_end_ns <= call.span.end_ns + kClockSkewNs;
    // Freeing waits for the whole device. One that outlived all the work waited, however long the rest of it took.
    const bool frees = call.category == ApiCategory::kFree || call.category == ApiCategory::kHostFree;
    if (frees && outlived_all) return blocked(call, out.last_end_ns);
    if (returned_with_work(call, out, latest_return_ns_ + cost.p90_ns)) return blocked(call, out.end_before_return_ns);
    return {outlived_all && is_long(call, cost.p50_ns) ? Verdict::kUnknown : Verdict::kReturnedAtOnce};
  }
  if (returned_with_work(call, out, latest_return_ns_) && is_long(call, cost.p50_ns)) {
    return blocked(call, out.end_before_return_ns);
  }
  return {Verdict::kReturnedAtOnce};
}

Judgement Judge::by_length(const Call& call, WaitHabit habit) const {
  const auto shortest = calibration_.shortest_ns.find(call.api);
  Nanoseconds cost_ns = default_cost(call.category).p50_ns;
  if (shortest != calibration_.shortest_ns.end()) cost_ns = std::min(cost_ns, shortest->second);
  Nanoseconds ordinary_ns = kLongCallFactor * cost_ns + kOutstandingMarginNs;
  if (is_copy(call.category)) {
    ordinary_ns =
        add_saturated(ordinary_ns, static_cast<Nanoseconds>(call.bytes / kSlowestBytesPerMicrosecond) * 1'000);
  }
  const bool held_up = call.span.length_ns() > ordinary_ns;
  Judgement judgement{Verdict::kReturnedAtOnce, Basis::kLength};
  // cudaFree(0) does nothing but start CUDA up.
  const bool frees_nothing =
      call.category == ApiCategory::kFree && call.object == 0 && api_name(trace_, call.api) == "cudaFree";
  if (habit == WaitHabit::kExplicit || (habit == WaitHabit::kMayWait && !frees_nothing)) {
    if (held_up || waits_by_table(call)) {
      judgement.verdict = Verdict::kBlocked;
      judgement.blocked_ns = call.span.length_ns();
    } else if (habit == WaitHabit::kExplicit) {
      judgement.verdict = Verdict::kRedundant;
    }
  } else if (habit == WaitHabit::kUnknown && held_up) {
    judgement.verdict = Verdict::kUnknown;
  }
  return judgement;
}

struct Votes {
  std::uint64_t met_work = 0;
  std::uint64_t blocked = 0;
};

// Lower end of Wilson's 95 % interval for `hits` of `trials`.
double wilson_lower(std::uint64_t hits, std::uint64_t trials) {
  constexpr double kZ = 1.96;
  const double n = static_cast<double>(trials);
  const double p = static_cast<double>(hits) / n;
  const double spread = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  return (p + kZ * kZ / (2 * n) - spread) / (1 + kZ * kZ / n);
}

bool is_proven(const Votes& votes) {
  if (votes.met_work == 0) return false;
  if (votes.met_work < kFewestSamples) return wilson_lower(votes.blocked, votes.met_work) >= 0.5;
  return static_cast<double>(votes.blocked) >= 0.8 * static_cast<double>(votes.met_work);
}

// Takes back the waits of functions not known to wait, unless their site as a whole behaves like a wait.
void keep_proven_sites(const Trace& trace, std::vector<Judgement>& judgements) {
  std::unordered_map<CallSiteKey, Votes, CallSiteKeyHash> votes;
  const auto needs_proof = [&](std::size_t row) {
    const WaitHabit habit = wait_habit(trace.calls[row]);
    return judgements[row].met_work && (habit == WaitHabit::kNever || habit == WaitHabit::kUnknown);
  };
  for (std::size_t row = 0; row < judgements.size(); ++row) {
    if (!needs_proof(row)) continue;
    Votes& site = votes[key_of(trace.calls[row], judgements[row].creates_context)];
    ++site.met_work;
    if (judgements[row].verdict == Verdict::kBlocked) ++site.blocked;
  }
  for (std::size_t row = 0; row < judgements.size(); ++row) {
    Judgement& judgement = judgements[row];
    if (judgement.verdict != Verdict::kBlocked || !needs_proof(row)) continue;
    if (is_proven(votes[key_of(trace.calls[row], judgement.creates_context)])) continue;
    judgement.verdict = Verdict::kReturnedAtOnce;
    judgement.waited_ns = 0;
    judgement.blocked_ns = 0;
  }
}

}  // namespace

std::vector<Judgement> judge_calls(const Trace& trace, const std::vector<Outstanding>& outstanding,
                                   const Calibration& calibration) {
  const Judge judge(trace, outstanding, calibration);
  std::vector<Judgement> judgements;
  judgements.reserve(trace.calls.size());
  for (std::size_t row = 0; row < trace.calls.size(); ++row) judgements.push_back(judge.judge(row));
  keep_proven_sites(trace, judgements);
  return judgements;
}

bool can_wait(const Call& call, const Judgement& judgement) noexcept {
  if (judgement.creates_context) return false;
  const WaitHabit habit = wait_habit(call);
  return habit == WaitHabit::kExplicit || habit == WaitHabit::kMayWait || judgement.verdict == Verdict::kBlocked ||
         judgement.verdict == Verdict::kUnknown;
}

}  // namespace synctrace
