// SPDX-License-Identifier: Apache-2.0
#include "gate/baseline_changes.h"

#include <algorithm>
#include <utility>

namespace synctrace {
namespace {

// An entry as it is now, in place of what it was. A count that rose is taken over only if that is asked for.
BaselineEntry followed(const BaselineEntry& before, const BaselineEntry& now, bool accept_new, BaselineChange& change) {
  BaselineEntry entry = now;
  const bool rose = before.per_step != 0 && now.per_step > before.per_step;
  if (rose && !accept_new) {
    change.refused.push_back(now);
    entry.per_step = before.per_step;
  }
  if (before.per_step == 0) entry.per_step = 0;
  if (entry.fingerprint != before.fingerprint || entry.per_step != before.per_step) ++change.changed;
  return entry;
}

}  // namespace

std::vector<BaselineEntry> entries_of(const GateResult& result) {
  std::vector<BaselineEntry> entries;
  const bool in_steps =
      std::all_of(result.traces.begin(), result.traces.end(), [](const JudgedTrace& trace) { return trace.steps > 0; });
  for (const Finding& finding : result.findings) {
    if (finding.status != FindingStatus::kNew || finding.strict) continue;
    // Without steps a count is that of a run, which may be longer the next time.
    entries.push_back({finding.fingerprint, in_steps ? finding.per_step : 0, finding.where.source});
  }
  return entries;
}

BaselineChange change_baseline(BaselineVerb verb, const Baseline& before, const GateResult& found, bool accept_new,
                               const Repository& repository) {
  BaselineChange change;
  std::vector<BaselineEntry> now = entries_of(found);
  if (verb == BaselineVerb::kCreate) {
    change.added = now.size();
    change.result.entries = std::move(now);
    return change;
  }
  std::vector<Fingerprint> prints;
  for (const BaselineEntry& entry : now) prints.push_back(entry.fingerprint);
  const std::vector<std::size_t> matches =
      match_baseline(before, prints, [&](const std::string& file) { return !repository.has_file(file); });
  std::vector<bool> known(now.size());
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const BaselineEntry& entry = before.entries[i];
    if (matches[i] == kNoMatch) {
      if (verb == BaselineVerb::kPrune)
        ++change.dropped;
      else
        change.result.entries.push_back(entry);
      continue;
    }
    known[matches[i]] = true;
    change.result.entries.push_back(
        verb == BaselineVerb::kPrune ? entry : followed(entry, now[matches[i]], accept_new, change));
  }
  for (std::size_t i = 0; i < now.size() && verb == BaselineVerb::kUpdate; ++i) {
    if (known[i]) continue;
    (accept_new ? change.result.entries : change.refused).push_back(now[i]);
    change.added += accept_new ? 1 : 0;
  }
  return change;
}

}  // namespace synctrace
