// SPDX-License-Identifier: Apache-2.0
#include "attribution/cause_table.h"

#include <algorithm>
#include <tuple>

namespace synctrace {

std::size_t CauseKeyHash::operator()(const CauseKey& key) const noexcept {
  std::uint64_t hash =
      static_cast<std::uint64_t>(number(key.kind)) << 24 | static_cast<std::uint64_t>(number(key.activity_kind)) << 16 |
      static_cast<std::uint64_t>(number(key.reason)) << 8 | (key.drained ? 2U : 0U) | (key.copying ? 1U : 0U);
  mix(hash, key.site);
  if (!(key.activity == key.site)) mix(hash, key.activity);
  return static_cast<std::size_t>(hash);
}

CallSiteKey CauseTable::key_of(Owner owner) const {
  CallSiteKey site;
  site.table = owner.table;
  switch (owner.table) {
    case OwnerTable::kCall: return synctrace::key_of(trace_.calls[owner.row]);
    case OwnerTable::kLaunch:
      site.api = trace_.launches[owner.row].api;
      site.stack = trace_.launches[owner.row].stack;
      break;
    case OwnerTable::kPoll:
      site.api = trace_.polls[owner.row].api;
      site.stack = trace_.polls[owner.row].stack;
      break;
    case OwnerTable::kHostWait:
      site.host_call = trace_.host_waits[owner.row].call;
      site.stack = trace_.host_waits[owner.row].stack;
      break;
    case OwnerTable::kSample: site.stack = trace_.samples[owner.row].stack; break;
    case OwnerTable::kStretch:
      site.stack = stretches_[owner.row].before;
      site.until = stretches_[owner.row].after;
      break;
    case OwnerTable::kOverhead:
    case OwnerTable::kNone: break;
  }
  return site;
}

// Finds the row of a key, or makes it: then true.
bool CauseTable::add_row(const CauseKey& key, ThreadId thread) {
  const auto [entry, is_new] = index_.try_emplace(key, static_cast<std::uint32_t>(causes_.size()));
  last_ = entry->second;
  if (!is_new) return false;
  causes_.emplace_back().key = key;
  causes_.back().thread = thread;
  causes_.back().number = last_;
  last_owner_.emplace_back();
  return true;
}

std::uint32_t CauseTable::add(const Part& part, PhaseSearch::At step) {
  CauseKey key{part.kind, part.activity_kind, part.reason, part.drained, part.copying, key_of(part.owner), {}};
  key.activity = part.activity == part.owner ? key.site : key_of(part.activity);
  const bool is_known = last_ < causes_.size() && causes_[last_].key == key;  // parts of one cause come in runs
  const bool is_new = !is_known && add_row(key, part.thread);
  Cause& cause = causes_[last_];
  const Nanoseconds length_ns = part.span.length_ns();
  cause.idle_ns += length_ns;
  cause.by_confidence[static_cast<std::size_t>(part.confidence)] += length_ns;
  const StepKind kind = step.kind;
  if (kind == StepKind::kSteady) cause.steady_ns += length_ns;
  if (kind == StepKind::kIrregular) cause.irregular_ns += length_ns;
  if (kind == StepKind::kSteady && part.confidence == Confidence::kLow) cause.uncertain_in_steps_ns += length_ns;
  if (step.phase != kNoPhase && !part.copying) in_phases_[std::uint64_t{step.phase} << 32 | last_] += length_ns;
  // A stretch or nothing is no event of its own: each time counts.
  const bool is_event = part.owner.table != OwnerTable::kStretch && part.owner.table != OwnerTable::kNone;
  if (is_new || !is_event || !(last_owner_[last_] == part.owner)) ++cause.occurrences;
  last_owner_[last_] = part.owner;
  return last_;
}

std::vector<Cause> CauseTable::take() {
  index_.clear();
  std::stable_sort(causes_.begin(), causes_.end(),
                   [](const Cause& a, const Cause& b) { return a.idle_ns > b.idle_ns; });
  return std::move(causes_);
}

std::vector<PhaseIdle> CauseTable::take_phases() {
  std::vector<PhaseIdle> rows;
  for (const auto& [key, idle_ns] : in_phases_)
    rows.push_back({static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key), idle_ns});
  in_phases_.clear();
  std::sort(rows.begin(), rows.end(), [](const PhaseIdle& a, const PhaseIdle& b) {
    return std::tie(a.phase, a.cause) < std::tie(b.phase, b.cause);
  });
  return rows;
}

}  // namespace synctrace
