// SPDX-License-Identifier: Apache-2.0
#include "findings/history/build_history.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/digest.h"
#include "base/shown_text.h"
#include "findings/calls/line_rules.h"
#include "findings/calls/sites.h"
#include "findings/history/site_book.h"
#include "findings/history/wall_windows.h"
#include "model/wall_clock.h"

namespace synctrace {
namespace {

constexpr Nanoseconds kMinuteNs = 60'000'000'000;
constexpr Nanoseconds kMostWindows = 1'000'000;  // all devices together

std::string_view kind_word(StepKind kind) noexcept {
  switch (kind) {
    case StepKind::kWarmUp: return "warm-up";
    case StepKind::kIrregular: return "irregular";
    case StepKind::kSteady:
    case StepKind::kOutside: break;
  }
  return "ordinary";
}

// Nothing in it changes when the file is renamed, compressed, gets names, or is read while its process still runs.
std::uint64_t id_of(const Trace& trace) {
  Digest digest;
  for (const std::string_view key : {"host", "command_line", "executable", "rank"}) digest.add(fact(trace, key));
  digest.add(std::to_string(trace.process_id));
  // What was imported may have no date.
  digest.add(std::to_string(trace.start_realtime_ns != 0 ? trace.start_realtime_ns
                                                         : static_cast<std::uint64_t>(trace.first_ns)));
  return digest.number();
}

class Historian {
 public:
  Historian(const Trace& trace, const Attribution& attribution, const Report& report, const UserCode& user_code,
            const HistoryOptions& options)
      : trace_(trace),
        attribution_(attribution),
        report_(report),
        user_code_(user_code),
        options_(options),
        windows_(clock_lead_ns(trace), window_length_ns(trace.last_ns - trace.first_ns, report.devices.size())),
        book_(options.root, report.folder) {}

  HistoryDraft run() {
    history_.id = id_of(trace_);
    history_.job = printable(fact(trace_, "job_id"));
    history_.rank = rank_number(trace_);
    history_.begin_ns = windows_.wall(trace_.first_ns);
    history_.window_ns = windows_.length_ns();
    add_calls();
    for (const DeviceReport& device : report_.devices) add_device(device);
    take_windows();
    add_steps();
    add_exchanges();
    return {std::move(history_), std::move(book_)};
  }

 private:
  using WindowKey = std::tuple<Nanoseconds, std::int64_t, std::uint32_t>;  // begin, device, site

  std::uint32_t row_of(const CallSite& site) {
    return book_.row_of(site.rule(), site.function(), site.where, called_there(site));
  }

  void add_calls() {
    // In the report's order, so that rows are the same each time.
    for (const std::vector<CallSite>* sites : {&report_.waits, &report_.polls}) {
      for (const CallSite& site : *sites) row_of(site);
    }
    StackPlaces places(trace_, user_code_, StackPlaces::kMostDescribedBytes, HelperPlaces::kOwnLine);
    const LineRules rules(trace_, attribution_.evidence->stacks, places);
    const Waits waits(trace_, attribution_, places);
    const SiteGroups groups = group_sites(waits, rules, places, report_.covers_all);
    std::vector<std::uint32_t> rows;
    for (const CallSite& site : groups.sites)
      rows.push_back(site.can_wait || site.is_poll ? row_of(site) : SiteGroups::kNone);
    for (std::size_t i = 0; i < groups.of_events.size(); ++i) {
      const std::uint32_t group = groups.of_events[i];
      if (group == SiteGroups::kNone || rows[group] == SiteGroups::kNone) continue;
      const PossibleWait& event = waits.events()[i];
      figures_[{windows_.begin_of(waits.origin(event).begin_ns), kNoDevice, rows[group]}].add(waits.figures(event));
    }
  }

  // The site of each of a device's causes, by Cause::number.
  std::vector<std::uint32_t> sites_of(const DeviceReport& device) {
    std::vector<std::uint32_t> sites;
    for (const std::vector<IdleCause>* causes : {&device.causes, &device.copy_causes}) {
      for (const IdleCause& cause : *causes) {
        const std::uint32_t row = book_.row_of(cause.rule, cause.name, cause.where, cause.call);
        add_whole(cause, book_[row]);
        for (const std::uint32_t number : cause.numbers) {
          sites.resize(std::max<std::size_t>(sites.size(), number + std::size_t{1}), row);
          sites[number] = row;
        }
      }
    }
    return sites;
  }

  // What is not known minute by minute.
  static void add_whole(const IdleCause& cause, HistorySite& site) {
    if (cause.idle_ns > site.most_idle_ns) {
      site.most_idle_ns = cause.idle_ns;
      site.cause = cause_name(cause.kind);
    }
    site.idle_in_steps_ns = add_saturated(site.idle_in_steps_ns, cause.steady_ns);
    if (cause.saving && cause.saving->alone.ns > site.saving.ns) site.saving = cause.saving->alone;
  }

  void add_device(const DeviceReport& device) {
    const std::vector<std::uint32_t> sites = sites_of(device);
    const auto parts = attribution_.parts.find(DeviceId{device.id});
    const auto numbers = attribution_.part_causes.find(DeviceId{device.id});
    if (parts == attribution_.parts.end() || numbers == attribution_.part_causes.end()) return;
    for (std::size_t i = 0; i < std::min(parts->second.size(), numbers->second.size()); ++i) {
      const std::uint32_t number = numbers->second[i];
      if (number < sites.size()) add_part(parts->second[i], device.id, sites[number]);
    }
  }

  void add_part(const Part& part, std::int64_t device, std::uint32_t site) {
    for (Nanoseconds t = part.span.begin_ns; t < part.span.end_ns;) {
      const Nanoseconds end_ns = std::min(part.span.end_ns, windows_.end_of(t));
      const Nanoseconds ns = end_ns - t;
      const bool uncertain = part.confidence == Confidence::kLow;
      SiteFigures figures;
      (part.copying ? figures.copying_ns : figures.idle_ns) = ns;
      if (uncertain && !part.copying) figures.uncertain_ns = ns;
      figures_[{windows_.begin_of(t), device, site}].add(figures);
      t = end_ns;
    }
  }

  void take_windows() {
    history_.windows.reserve(figures_.size());
    for (const auto& [key, figures] : figures_) {
      const auto& [begin_ns, device, site] = key;
      history_.windows.push_back({begin_ns, device, site, figures});
      book_[site].figures.add(figures);
    }
    figures_.clear();
  }

  void add_steps() {
    const std::vector<Step>& steps = attribution_.steps.steps;
    for (std::size_t i = 0; i < steps.size(); ++i)
      history_.steps.push_back(
          {i, windows_.wall(steps[i].host.begin_ns), steps[i].length_ns, kind_word(steps[i].kind)});
  }

  void add_exchanges() {
    using Sort = std::tuple<Nanoseconds, std::uint64_t, std::string, std::uint64_t, std::int64_t>;
    std::map<Sort, ExchangeWindow> sorts;
    if (!options_.exchanges) return;
    for (const ExchangeRow& one : *options_.exchanges) {
      const Nanoseconds begin_ns = windows_.begin_of(one.span.begin_ns);
      ExchangeWindow& row = sorts[{begin_ns, one.communicator, one.operation, one.bytes, one.late_rank}];
      row.begin_ns = begin_ns;
      row.communicator = one.communicator;
      row.operation = one.operation;
      row.bytes = one.bytes;
      row.late_rank = one.late_rank;
      ++row.count;
      const Nanoseconds length_ns = one.span.length_ns();
      row.time_ns = add_saturated(row.time_ns, length_ns);
      if (!one.is_split) {
        row.unsplit_ns = add_saturated(row.unsplit_ns, length_ns);
        continue;
      }
      row.waiting_ns = add_saturated(row.waiting_ns, one.wait_ns);
      row.transfer_ns = add_saturated(row.transfer_ns, length_ns - one.wait_ns);
    }
    for (auto& [sort, row] : sorts) history_.exchanges.push_back(std::move(row));
  }

  const Trace& trace_;
  const Attribution& attribution_;
  const Report& report_;
  const UserCode& user_code_;
  const HistoryOptions& options_;
  const WallWindows windows_;
  SiteBook book_;
  std::map<WindowKey, SiteFigures> figures_;
  RunHistory history_;
};

}  // namespace

RunHistory HistoryDraft::finish(const JobReport* job, std::size_t rank) {
  for (const JobCause& cause : job == nullptr ? std::vector<JobCause>() : job->causes) {
    for (const RankShare& share : cause.ranks) {
      if (share.rank != rank) continue;
      HistorySite& site = sites_[sites_.row_of(cause.rule, cause.name, cause.where, cause.kernel)];
      site.others_waited_ns = add_saturated(site.others_waited_ns, share.waited_ns);
    }
  }
  history_.sites = sites_.take();
  return std::move(history_);
}

Nanoseconds window_length_ns(Nanoseconds span_ns, std::size_t devices) noexcept {
  const Nanoseconds most = std::max<Nanoseconds>(1, kMostWindows / static_cast<Nanoseconds>(devices + 1));
  Nanoseconds length_ns = kMinuteNs;
  while (span_ns / length_ns >= most) length_ns *= 2;
  return length_ns;
}

HistoryDraft draft_history(const Trace& trace, const Attribution& attribution, const Report& report,
                           const UserCode& user_code, const HistoryOptions& options) {
  return Historian(trace, attribution, report, user_code, options).run();
}

}  // namespace synctrace
