// SPDX-License-Identifier: Apache-2.0
#include "findings/calls/sites.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "attribution/call_site_key.h"
#include "attribution/wait_table.h"
#include "base/shown_text.h"
#include "findings/report/trace_words.h"

namespace synctrace {
namespace {

// Sites that never wait are shown from here on.
constexpr Nanoseconds kLongSiteNs = 1'000'000;

// A site is named by its copy, if it has one, and the function of the synchronisation that follows each copy.
struct SiteKey {
  CallSiteKey call;  // without its stack: those of one place are one
  StackPlace place{};
  ApiId sync{};
  friend bool operator==(const SiteKey&, const SiteKey&) = default;
};

struct SiteKeyHash {
  std::size_t operator()(const SiteKey& key) const noexcept {
    return (CallSiteKeyHash{}(key.call) * 31 + number(key.place)) * 31 + number(key.sync);
  }
};

SiteKey key_of(const Waits& waits, const PossibleWait& event) {
  const Trace& trace = waits.trace();
  SiteKey key{{}, event.place, {}};
  key.call.table = event.table;
  if (event.table == OwnerTable::kPoll) key.call.api = trace.polls[event.row].api;
  if (event.table == OwnerTable::kHostWait) key.call.host_call = trace.host_waits[event.row].call;
  if (event.table != OwnerTable::kCall) return key;
  key.call = synctrace::key_of(trace.calls[event.row], waits.judgement(event.row).creates_context);
  key.call.stack = {};
  if (event.is_pair()) key.sync = trace.calls[event.sync_row].api;
  return key;
}

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

SiteVerdict verdict_of(const WaitFigures& figures) {
  if (figures.waited == figures.calls) return SiteVerdict::kWaits;
  if (figures.waited > 0) return SiteVerdict::kSometimes;
  if (figures.unclear > 0) return SiteVerdict::kUnclear;
  if (figures.redundant > 0) return SiteVerdict::kRedundant;
  return figures.own_copy > 0 ? SiteVerdict::kOwnCopy : SiteVerdict::kNoWait;
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

bool dearer_poll(const CallSite& a, const CallSite& b) {
  return std::tie(b.figures.host_blocked_ns, b.figures.calls, a.function(), a.where.file, a.where.line) <
         std::tie(a.figures.host_blocked_ns, a.figures.calls, b.function(), b.where.file, b.where.line);
}

class SiteGrouping {
 public:
  SiteGrouping(const Waits& waits, const LineRules& rules, const StackPlaces& places)
      : waits_(waits), trace_(waits.trace()), rules_(rules), places_(places) {}

  std::uint32_t add(const PossibleWait& event) {
    const auto row = static_cast<std::uint32_t>(sites_.size());
    const auto [known, is_new] = rows_.try_emplace(key_of(waits_, event), row);
    if (is_new) start(event, sites_.emplace_back());
    CallSite& site = sites_[known->second];
    const WaitFigures figures = waits_.figures(event);
    site.figures.add(figures);
    site.can_wait = site.can_wait || waits_.can_wait(event);
    if (!event.is_pair()) {
      site.calls.front().figures.add(figures);
      return known->second;
    }
    const auto [first, second] = waits_.parts(event);
    site.calls[0].figures.add(figures_of(trace_.calls[first], waits_.judgement(first)));
    site.calls[1].figures.add(figures_of(trace_.calls[second], waits_.judgement(second)));
    return known->second;
  }

  std::vector<CallSite> take() {
    for (CallSite& site : sites_) site.verdict = verdict_of(site.figures);
    return std::move(sites_);
  }

 private:
  void start(const PossibleWait& event, CallSite& site) const {
    site.where = places_.line_of(event.place);
    if (event.table == OwnerTable::kPoll) {
      site.is_poll = true;
      site.calls.push_back({&kPollingRule, printable(api_name(trace_, trace_.polls[event.row].api)), {}, {}, {}, {}});
    } else if (event.table == OwnerTable::kHostWait) {
      const std::string call(host_call_word(trace_.host_waits[event.row].call));
      site.calls.push_back({&kFrameworkWaitRule, call, {}, {}, {}, {}});
    } else {
      const auto [first, second] = waits_.parts(event);
      for (const std::uint32_t row : {first, second}) {
        if (row == kNoCall) continue;
        const Call& call = trace_.calls[row];
        const bool creates_context = row == event.row && waits_.judgement(row).creates_context;
        site.calls.push_back(start_calls(trace_, call, creates_context, rules_.of(call, event.place)));
      }
    }
  }

  const Waits& waits_;
  const Trace& trace_;
  const LineRules& rules_;
  const StackPlaces& places_;
  std::unordered_map<SiteKey, std::uint32_t, SiteKeyHash> rows_;
  std::vector<CallSite> sites_;
};

}  // namespace

bool is_covered(const Trace& trace, bool covers_all, Nanoseconds begin_ns) {
  return covers_all || in_window(trace, {begin_ns, begin_ns});
}

SiteGroups group_sites(const Waits& waits, const LineRules& rules, const StackPlaces& places, bool covers_all) {
  SiteGroups groups;
  SiteGrouping grouping(waits, rules, places);
  groups.of_events.reserve(waits.events().size());
  for (const PossibleWait& event : waits.events()) {
    const bool covered = is_covered(waits.trace(), covers_all, waits.origin(event).begin_ns);
    groups.of_events.push_back(covered ? grouping.add(event) : SiteGroups::kNone);
  }
  groups.sites = grouping.take();
  return groups;
}

void add_sites(const Waits& waits, const LineRules& rules, const StackPlaces& places, Report& report) {
  SiteGroups groups = group_sites(waits, rules, places, report.covers_all);
  for (std::size_t i = 0; i < groups.of_events.size(); ++i) {
    const PossibleWait& event = waits.events()[i];
    if (event.table == OwnerTable::kCall && groups.of_events[i] == SiteGroups::kNone)
      report.left_out_calls += event.is_pair() ? 2 : 1;
  }
  for (CallSite& site : groups.sites) {
    if (site.is_poll) {
      report.polls.push_back(std::move(site));
      continue;
    }
    for (const SiteCalls& calls : site.calls) report.calls.add(calls.figures);
    if (site.can_wait)
      report.waits.push_back(std::move(site));
    else if (site.figures.host_ns >= kLongSiteNs)
      report.long_calls.push_back(std::move(site));
  }
  std::sort(report.waits.begin(), report.waits.end(), dearer);
  std::sort(report.long_calls.begin(), report.long_calls.end(), dearer);
  std::sort(report.polls.begin(), report.polls.end(), dearer_poll);
}

std::string called_there(const CallSite& site) {
  if (site.calls.size() < 2) return site.function();
  return site.function() + (site.calls.front().direction.empty() ? " + copy" : " + sync");
}

}  // namespace synctrace
