// SPDX-License-Identifier: Apache-2.0
#include "findings/sites.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attribution/attribute.h"
#include "attribution/call_site_key.h"
#include "attribution/wait_table.h"
#include "base/shown_text.h"
#include "findings/paired_calls.h"
#include "findings/trace_words.h"

namespace synctrace {
namespace {

// Sites that never wait are shown from here on.
constexpr Nanoseconds kLongSiteNs = 1'000'000;

// A site is named by its copy, if it has one, and the function of the synchronisation that follows each copy.
struct PairKey {
  CallSiteKey call;  // without its stack: those of one place are one
  StackPlace place{};
  ApiId sync{};
  friend bool operator==(const PairKey&, const PairKey&) = default;
};

struct PairKeyHash {
  std::size_t operator()(const PairKey& key) const noexcept {
    return (CallSiteKeyHash{}(key.call) * 31 + number(key.place)) * 31 + number(key.sync);
  }
};

SiteCalls start_calls(const Trace& trace, const Call& call, bool creates_context, const Rule* rule) {
  SiteCalls calls;
  calls.rule = rule;
  calls.function = printable(api_name(trace, call.api));
  if (is_copy(call.category)) {
    calls.direction = direction_word(call.copy_kind);
    calls.memory = memory_word(host_memory(call.copy_kind, call.source_memory, call.target_memory));
  }
  if (creates_context) calls.note = "creates the context";
  return calls;
}

void count_verdict(Verdict verdict, CallFigures& figures) {
  switch (verdict) {
    case Verdict::kBlocked: ++figures.blocked_count; break;
    case Verdict::kRedundant: ++figures.redundant_count; break;
    case Verdict::kOwnWork: ++figures.own_copy_count; break;
    case Verdict::kUnknown: ++figures.unclear_count; break;
    case Verdict::kReturnedAtOnce: break;
  }
}

void add_times(const Call& call, const Judgement& judgement, CallFigures& figures) {
  figures.bytes += call.bytes;
  figures.host_ns = add_saturated(figures.host_ns, call.span.length_ns());
  figures.host_blocked_ns = add_saturated(figures.host_blocked_ns, judgement.blocked_ns);
}

void count_call(const Call& call, const Judgement& judgement, CallFigures& figures) {
  ++figures.count;
  add_times(call, judgement, figures);
  figures.longest_ns = std::max(figures.longest_ns, call.span.length_ns());
  figures.failed_count += call.status != 0 ? 1 : 0;
  figures.by_length_count += judgement.basis == Basis::kLength ? 1 : 0;
  count_verdict(judgement.verdict, figures);
}

void count_pair(const Call& copy, const Judgement& copied, const Call& sync, const Judgement& synced,
                CallFigures& figures) {
  ++figures.count;
  add_times(copy, copied, figures);
  add_times(sync, synced, figures);
  figures.longest_ns = std::max(figures.longest_ns, add_saturated(copy.span.length_ns(), sync.span.length_ns()));
  figures.failed_count += copy.status != 0 || sync.status != 0 ? 1 : 0;
  figures.by_length_count += copied.basis == Basis::kLength || synced.basis == Basis::kLength ? 1 : 0;
  count_verdict(verdict_of_pair(copied.verdict, synced.verdict), figures);
}

SiteVerdict verdict_of(const CallFigures& figures) {
  if (figures.blocked_count == figures.count) return SiteVerdict::kWaits;
  if (figures.blocked_count > 0) return SiteVerdict::kSometimes;
  if (figures.unclear_count > 0) return SiteVerdict::kUnclear;
  if (figures.redundant_count > 0) return SiteVerdict::kRedundant;
  return figures.own_copy_count > 0 ? SiteVerdict::kOwnCopy : SiteVerdict::kNoWait;
}

// Dearest first; the words only make the order of equals the same on every machine.
bool dearer(const CallSite& a, const CallSite& b) {
  const auto words = [](const CallSite& site) {
    const SiteCalls& calls = site.calls.front();
    return std::tie(calls.function, calls.direction, calls.memory, site.where.file, site.where.line,
                    site.where.function);
  };
  return std::tuple(-a.figures.host_blocked_ns, -a.figures.host_ns, words(a)) <
         std::tuple(-b.figures.host_blocked_ns, -b.figures.host_ns, words(b));
}

// Groups calls into sites.
class Sites {
 public:
  Sites(const Trace& trace, const Attribution& attribution, const LineRules& rules, StackPlaces& places)
      : trace_(trace), attribution_(attribution), rules_(rules), places_(places) {}

  template <class Visit>
  void each_site(const std::vector<PairedCall>& pairs, Visit visit) {
    for (const PairedCall& pair : pairs) count(pair.row, pair.sync_row, pair.place);
    for (auto& [key, site] : sites_) {
      site.verdict = verdict_of(site.figures);
      visit(site);
    }
  }

 private:
  void count(std::size_t row, std::size_t sync_row, StackPlace place) {
    const Call& call = trace_.calls[row];
    const Judgement& judgement = attribution_.judgements[row];
    PairKey key{key_of(call, judgement.creates_context), place, {}};
    key.call.stack = {};
    if (sync_row != PairedCall::kNoRow) key.sync = trace_.calls[sync_row].api;
    const auto [found, is_new] = sites_.try_emplace(key);
    CallSite& site = found->second;
    if (is_new) start(call, judgement.creates_context, sync_row, place, site);
    site.can_wait = site.can_wait || can_wait(call, judgement);
    if (sync_row == PairedCall::kNoRow) {
      count_call(call, judgement, site.figures);
      site.calls.front().figures = site.figures;
      return;
    }
    const Call& sync = trace_.calls[sync_row];
    const Judgement& synced = attribution_.judgements[sync_row];
    count_call(call, judgement, site.calls[copy_leads(call) ? 0 : 1].figures);
    count_call(sync, synced, site.calls[copy_leads(call) ? 1 : 0].figures);
    count_pair(call, judgement, sync, synced, site.figures);
    site.can_wait = true;
  }

  void start(const Call& call, bool creates_context, std::size_t sync_row, StackPlace place, CallSite& site) {
    site.where = places_.line_of(place);
    site.calls.push_back(start_calls(trace_, call, creates_context, rules_.of(call, place)));
    if (sync_row == PairedCall::kNoRow) return;
    const Call& sync = trace_.calls[sync_row];
    site.calls.push_back(start_calls(trace_, sync, false, rules_.of(sync, place)));
    if (!copy_leads(call)) std::swap(site.calls[0], site.calls[1]);
  }

  const Trace& trace_;
  const Attribution& attribution_;
  const LineRules& rules_;
  StackPlaces& places_;
  std::unordered_map<PairKey, CallSite, PairKeyHash> sites_;
};

void add_call_sites(const Trace& trace, const Attribution& attribution, const LineRules& rules, StackPlaces& places,
                    Report& report) {
  Sites sites(trace, attribution, rules, places);
  const std::vector<PairedCall> pairs = pair_calls(trace, places, [&](const Call& call) {
    const bool covered = is_covered(trace, report, call.span);
    report.left_out_calls += covered ? 0 : 1;
    return covered;
  });
  sites.each_site(pairs, [&](CallSite& site) {
    for (const SiteCalls& calls : site.calls) {
      report.call_count += calls.figures.count;
      report.blocked_count += calls.figures.blocked_count;
      report.by_length_count += calls.figures.by_length_count;
      report.host_blocked_ns = add_saturated(report.host_blocked_ns, calls.figures.host_blocked_ns);
    }
    if (site.can_wait)
      report.waits.push_back(std::move(site));
    else if (site.figures.host_ns >= kLongSiteNs)
      report.long_calls.push_back(std::move(site));
  });
  std::sort(report.waits.begin(), report.waits.end(), dearer);
  std::sort(report.long_calls.begin(), report.long_calls.end(), dearer);
}

void add_poll_sites(const Trace& trace, StackPlaces& places, Report& report) {
  std::map<std::pair<ApiId, StackPlace>, CallSite> sites;
  for (const Poll& poll : trace.polls) {
    if (!is_covered(trace, report, poll.span)) continue;
    CallFigures& figures = sites[{poll.api, places.place_of(poll.stack)}].figures;
    figures.count += poll.count;
    figures.not_ready_count += poll.not_ready_count;
    if (!is_wait(poll)) continue;
    ++figures.blocked_count;
    figures.host_blocked_ns = add_saturated(figures.host_blocked_ns, poll.span.length_ns());
  }
  for (auto& [key, site] : sites) {
    site.calls.push_back({&kPollingRule, printable(api_name(trace, key.first)), {}, {}, {}, site.figures});
    site.where = places.line_of(key.second);
    report.polls.push_back(std::move(site));
  }
  std::sort(report.polls.begin(), report.polls.end(), [](const CallSite& a, const CallSite& b) {
    return std::tie(b.figures.host_blocked_ns, b.figures.count, a.function(), a.where.file, a.where.line) <
           std::tie(a.figures.host_blocked_ns, a.figures.count, b.function(), b.where.file, b.where.line);
  });
}

}  // namespace

bool is_covered(const Trace& trace, const Report& report, TimeSpan span) {
  return report.covers_all || in_window(trace, {span.begin_ns, span.begin_ns});
}

void add_sites(const Trace& trace, const Attribution& attribution, const LineRules& rules, StackPlaces& places,
               Report& report) {
  add_call_sites(trace, attribution, rules, places, report);
  add_poll_sites(trace, places, report);
}

}  // namespace synctrace
