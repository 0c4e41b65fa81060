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

// What the site's figures have become more by, in the window of that time. Times mostly come in order.
void note_window(std::int64_t begin_ns, const CallFigures& before, WindowedSite& one) {
  const auto at = std::lower_bound(one.windows.begin(), one.windows.end(), begin_ns,
                                   [](const CallWindow& window, std::int64_t ns) { return window.begin_ns < ns; });
  const bool is_new = at == one.windows.end() || at->begin_ns != begin_ns;
  CallWindow& window = is_new ? *one.windows.insert(at, {begin_ns, 0, 0, 0, 0}) : *at;
  const CallFigures& now = one.site.figures;
  window.count += now.count - before.count;
  window.blocked_count += now.blocked_count - before.blocked_count;
  window.bytes += now.bytes - before.bytes;
  window.host_blocked_ns += now.host_blocked_ns - before.host_blocked_ns;
}

// Groups calls into sites.
class Sites {
 public:
  // `windows`: null where nobody asks for them.
  Sites(const Trace& trace, const Attribution& attribution, const LineRules& rules, StackPlaces& places,
        const WallWindows* windows = nullptr)
      : trace_(trace), attribution_(attribution), rules_(rules), places_(places), windows_(windows) {}

  template <class Visit>
  void each_site(const std::vector<PairedCall>& pairs, Visit visit) {
    for (const PairedCall& pair : pairs) count(pair);
    for (auto& [key, one] : sites_) {
      one.site.verdict = verdict_of(one.site.figures);
      visit(one);
    }
  }

 private:
  void count(const PairedCall& pair) {
    const Call& call = trace_.calls[pair.row];
    const Judgement& judgement = attribution_.judgements[pair.row];
    PairKey key{key_of(call, judgement.creates_context), pair.place, {}};
    key.call.stack = {};
    if (pair.sync_row != PairedCall::kNoRow) key.sync = trace_.calls[pair.sync_row].api;
    const auto [found, is_new] = sites_.try_emplace(key);
    WindowedSite& one = found->second;
    if (is_new) start(call, judgement.creates_context, pair.sync_row, pair.place, one.site);
    if (windows_ == nullptr) return add(pair.row, pair.sync_row, one.site);
    const CallFigures before = one.site.figures;
    add(pair.row, pair.sync_row, one.site);
    note_window(windows_->begin_of(call.span.begin_ns), before, one);
  }

  void add(std::size_t row, std::size_t sync_row, CallSite& site) {
    const Call& call = trace_.calls[row];
    const Judgement& judgement = attribution_.judgements[row];
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
  const WallWindows* windows_;
  std::unordered_map<PairKey, WindowedSite, PairKeyHash> sites_;
};

void add_call_sites(const Trace& trace, const Attribution& attribution, const LineRules& rules, StackPlaces& places,
                    Report& report) {
  Sites sites(trace, attribution, rules, places);
  const std::vector<PairedCall> pairs = pair_calls(trace, places, [&](const Call& call) {
    const bool covered = is_covered(trace, report, call.span);
    report.left_out_calls += covered ? 0 : 1;
    return covered;
  });
  sites.each_site(pairs, [&](WindowedSite& one) {
    CallSite& site = one.site;
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

std::vector<WindowedSite> poll_sites(const Trace& trace, StackPlaces& places, const Report& report,
                                     const WallWindows* windows) {
  std::map<std::pair<ApiId, StackPlace>, WindowedSite> sites;
  for (const Poll& poll : trace.polls) {
    if (!is_covered(trace, report, poll.span)) continue;
    WindowedSite& one = sites[{poll.api, places.place_of(poll.stack)}];
    CallFigures& figures = one.site.figures;
    const CallFigures before = figures;
    figures.count += poll.count;
    figures.not_ready_count += poll.not_ready_count;
    if (is_wait(poll)) {
      ++figures.blocked_count;
      figures.host_blocked_ns = add_saturated(figures.host_blocked_ns, poll.span.length_ns());
    }
    if (windows != nullptr) note_window(windows->begin_of(poll.span.begin_ns), before, one);
  }
  std::vector<WindowedSite> found;
  for (auto& [key, one] : sites) {
    CallSite& site = one.site;
    site.calls.push_back({&kPollingRule, printable(api_name(trace, key.first)), {}, {}, {}, site.figures});
    site.where = places.line_of(key.second);
    found.push_back(std::move(one));
  }
  return found;
}

void add_poll_sites(const Trace& trace, StackPlaces& places, Report& report) {
  for (WindowedSite& one : poll_sites(trace, places, report, nullptr)) report.polls.push_back(std::move(one.site));
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

std::vector<WindowedSite> sites_by_window(const Trace& trace, const Attribution& attribution, const LineRules& rules,
                                          StackPlaces& places, const Report& report, const WallWindows& windows) {
  std::vector<WindowedSite> found = poll_sites(trace, places, report, &windows);
  Sites sites(trace, attribution, rules, places, &windows);
  const std::vector<PairedCall> pairs =
      pair_calls(trace, places, [&](const Call& call) { return is_covered(trace, report, call.span); });
  sites.each_site(pairs, [&](WindowedSite& one) {
    if (one.site.can_wait) found.push_back(std::move(one));
  });
  return found;
}

}  // namespace synctrace
