// SPDX-License-Identifier: Apache-2.0
#include "attribution/host_owners.h"

#include <algorithm>
#include <iterator>

#include "base/median.h"
#include "base/shares.h"

namespace synctrace {
namespace {

constexpr std::uint64_t kFewestAgreeing = 3;  // samples
// Beside one line only: the share of the samples there that agree, times that are about as long, and so long that a
// sampler of 100 Hz missed them.
constexpr Share kAgreeingBeside = percent(80);
constexpr Nanoseconds kAboutAsLong = 2;
constexpr Nanoseconds kLongTimeNs = 10'000'000;
// Where samples between two lines are of several places, so many tell their shares, and of times so long.
constexpr std::uint64_t kFewestOfSeveral = 8;
constexpr Nanoseconds kLongOfSeveralNs = 1'000'000;

struct NamelessWork {
  ThreadId thread;
  TimeSpan span;
};

template <class Record>
std::optional<NamelessWork> without_stack(const Record& record) {
  return number(record.stack) == 0 ? std::optional(NamelessWork{record.thread, record.span}) : std::nullopt;
}

std::optional<NamelessWork> nameless_work(const Trace& trace, Owner owner) {
  if (owner.table == OwnerTable::kLaunch) return without_stack(trace.launches[owner.row]);
  if (owner.table != OwnerTable::kCall) return std::nullopt;
  const Call& call = trace.calls[owner.row];
  const bool stays_on_device =
      call.category == format::ApiCategory::kCopyAsync && call.copy_kind == format::CopyKind::kDeviceToDevice;
  return stays_on_device || call.category == format::ApiCategory::kMemset ? without_stack(call) : std::nullopt;
}

}  // namespace

HostOwners::HostOwners(const Evidence& evidence) : evidence_(evidence), ended_by_(evidence.host.threads()) {
  for (std::uint32_t row = 0; row < evidence.trace.host_waits.size(); ++row) {
    const HostWait& wait = evidence.trace.host_waits[row];
    const HostTimeline::Index waker = evidence.host.index_of(wait.waker);
    if (waker != HostTimeline::kNoThread && number(wait.waker) != 0 && number(wait.stack) != 0)
      ended_by_[waker].push_back(row);
  }
  find_usual_samples();
}

std::uint64_t HostOwners::line_of(StackId stack) const {
  const StackTraits traits = evidence_.stacks.traits(stack);
  return traits.python ? traits.python_line : number(stack);
}

// Samples inside of a library vote for the line that called it.
std::uint64_t HostOwners::shown_line_of(StackId stack) const {
  const StackTraits traits = evidence_.stacks.traits(stack);
  return traits.user && traits.user_line != 0 ? traits.user_line : line_of(stack);
}

HostOwners::Lines HostOwners::lines_around(HostTimeline::Index thread, TimeSpan span) const {
  const HostTimeline::Neighbours around = evidence_.host.neighbours(thread, span);
  return {line_of(around.before), line_of(around.after)};
}

HostOwners::Lines HostOwners::user_lines_around(HostTimeline::Index thread, TimeSpan span) const {
  const HostTimeline::Neighbours around = evidence_.host.neighbours(thread, span);
  return {shown_line_of(around.before), shown_line_of(around.after)};
}

void HostOwners::find_usual_samples() {
  struct Votes {
    std::uint32_t row = 0;  // the first there
    std::uint64_t samples = 0;
    std::map<Nanoseconds, Nanoseconds> lengths_ns;  // only beside one line; by begin
  };
  using VotesOfLines = std::map<Lines, std::map<std::uint64_t, Votes>>;
  VotesOfLines found, beside;
  for (HostTimeline::Index thread = 0; thread < evidence_.host.threads(); ++thread) {
    for (const std::uint32_t row : evidence_.host.samples(thread)) {
      const Sample& sample = evidence_.trace.samples[row];
      if (sample.state == format::Sample::State::kBlocked || number(sample.stack) == 0) continue;
      const HostItem item = evidence_.host.item_before(thread, sample.span.begin_ns + 1);
      if (item.owner.table != OwnerTable::kNone || item.first) continue;
      const auto vote = [&](VotesOfLines& of, Lines lines) {
        Votes& votes = of[lines].try_emplace(shown_line_of(sample.stack), Votes{row, 0, {}}).first->second;
        votes.samples += sample.count;
        if (&of == &beside) votes.lengths_ns.emplace(item.span.begin_ns, item.span.length_ns());
      };
      vote(found, lines_around(thread, item.span));
      if (item.span.length_ns() < kLongTimeNs / kAboutAsLong) continue;
      const Lines user = user_lines_around(thread, item.span);
      if (user.before != 0) vote(beside, {user.before, 0});
      if (user.after != 0) vote(beside, {0, user.after});
    }
  }
  const auto most_of = [](const std::map<std::uint64_t, Votes>& places, Share share) {
    std::uint64_t all = 0;
    const Votes* most = nullptr;
    for (const auto& [line, votes] : places) {
      all += votes.samples;
      if (most == nullptr || votes.samples > most->samples) most = &votes;
    }
    const bool agree = most != nullptr && most->samples >= kFewestAgreeing && ratio(most->samples, all) > share;
    return agree ? most : nullptr;
  };
  for (const auto& [lines, places] : found) {
    std::vector<UsualSample>& usual = usual_[lines];
    if (const Votes* most = most_of(places, percent(50))) {
      usual.push_back({most->row, 1});
      continue;
    }
    std::uint64_t until = 0;
    for (const auto& [line, votes] : places) usual.push_back({votes.row, until += votes.samples});
    if (until < kFewestOfSeveral) usual.clear();
  }
  for (const auto& [lines, places] : beside) {
    const Votes* most = most_of(places, kAgreeingBeside);
    if (most == nullptr) continue;
    std::vector<Nanoseconds> lengths_ns;
    for (const auto& [begin_ns, length_ns] : most->lengths_ns) lengths_ns.push_back(length_ns);
    usual_beside_.emplace(lines, UsualBeside{most->row, median_of(std::move(lengths_ns))});
  }
}

std::optional<std::uint32_t> HostOwners::usual_sample(HostTimeline::Index thread, TimeSpan span) const {
  if (const auto usual = usual_.find(lines_around(thread, span)); usual != usual_.end() && !usual->second.empty()) {
    const std::vector<UsualSample>& of_lines = usual->second;
    if (of_lines.size() == 1) return of_lines.front().sample;
    // Each place gets as much of such time as samples found there: by the time's number, so always the same.
    const std::uint64_t scattered = static_cast<std::uint64_t>(span.begin_ns) * 0x9e3779b97f4a7c15U >> 32;
    const std::uint64_t turn = scattered % of_lines.back().until;
    if (span.length_ns() >= kLongOfSeveralNs)
      return std::upper_bound(of_lines.begin(), of_lines.end(), turn,
                              [](std::uint64_t value, const UsualSample& each) { return value < each.until; })
          ->sample;
  }
  if (usual_beside_.empty() || span.length_ns() < kLongTimeNs) return std::nullopt;
  const Lines user = user_lines_around(thread, span);
  for (const Lines lines : {Lines{0, user.after}, Lines{user.before, 0}}) {
    const auto usual = usual_beside_.find(lines);
    if (usual == usual_beside_.end()) continue;
    const Nanoseconds usual_ns = usual->second.length_ns;
    if (span.length_ns() >= usual_ns / kAboutAsLong && span.length_ns() / kAboutAsLong <= usual_ns)
      return usual->second.sample;
  }
  return std::nullopt;
}

HostOwners::Told HostOwners::told(StackId stack) const {
  const StackTraits traits = evidence_.stacks.traits(stack);
  if (traits.user) return Told::kUserCode;
  return traits.python ? Told::kPython : Told::kNot;
}

std::optional<Owner> HostOwners::waiting_for(HostTimeline::Index thread, TimeSpan span, Told own) const {
  const std::vector<std::uint32_t>& ended = ended_by_[thread];
  if (ended.empty() || own == Told::kUserCode) return std::nullopt;
  const std::vector<HostWait>& waits = evidence_.trace.host_waits;
  const auto after = std::upper_bound(ended.begin(), ended.end(), span.end_ns,
                                      [&](Nanoseconds t, std::uint32_t row) { return t < waits[row].span.begin_ns; });
  if (after == ended.begin()) return std::nullopt;
  const HostWait& wait = waits[*std::prev(after)];
  if (wait.span.end_ns < span.end_ns || told(wait.stack) <= own) return std::nullopt;
  return Owner{*std::prev(after), OwnerTable::kHostWait};
}

Owner HostOwners::of(HostTimeline::Index thread, TimeSpan span, Owner owner) const {
  const bool slept = owner.table == OwnerTable::kHostWait;
  const Trace& trace = evidence_.trace;
  const StackId stack = slept ? trace.host_waits[owner.row].stack : trace.samples[owner.row].stack;
  return waiting_for(thread, span, told(stack)).value_or(owner);
}

Owner HostOwners::of_open_time(HostTimeline::Index thread, TimeSpan span) {
  const std::optional<std::uint32_t> usual = usual_sample(thread, span);
  return usual ? of(thread, span, {*usual, OwnerTable::kSample}) : of(thread, span);
}

CauseKind HostOwners::kind_of_open_time(Owner owner, CauseKind kind) const {
  if (kind != CauseKind::kHostCompute || owner.table != OwnerTable::kSample) return kind;
  const bool loads = evidence_.stacks.traits(evidence_.trace.samples[owner.row].stack).loader;
  return loads ? CauseKind::kLoaderCompute : kind;
}

// The stacks around the span; a launch beside it may have that of one that stands for it.
HostTimeline::Neighbours HostOwners::stacks_around(HostTimeline::Index thread, TimeSpan span) const {
  HostTimeline::Neighbours around = evidence_.host.neighbours(thread, span);
  if (!evidence_.usual_launches.any()) return around;
  const auto look_at = [&](Owner owner, StackId& stack) {
    if (owner.table != OwnerTable::kLaunch) return;
    const StackId usual = evidence_.trace.launches[evidence_.usual_launches.row_for(owner.row)].stack;
    if (number(usual) != 0) stack = usual;
  };
  look_at(evidence_.host.item_before(thread, span.begin_ns).owner, around.before);
  if (const auto next = evidence_.host.item_from(thread, span.end_ns)) look_at(next->owner, around.after);
  return around;
}

Owner HostOwners::of(HostTimeline::Index thread, TimeSpan span) {
  const HostTimeline::Neighbours around = stacks_around(thread, span);
  if (!ended_by_[thread].empty()) {
    const auto waiting = waiting_for(thread, span, std::max(told(around.before), told(around.after)));
    if (waiting) return *waiting;
  }
  if (last_ < stretches_.size() && stretches_[last_] == around) return {last_, OwnerTable::kStretch};
  const auto [entry, is_new] = known_.try_emplace(around, static_cast<std::uint32_t>(stretches_.size()));
  if (is_new) stretches_.push_back(around);
  last_ = entry->second;
  return {last_, OwnerTable::kStretch};
}

Owner HostOwners::of_work(Owner owner) {
  const std::optional<NamelessWork> work = nameless_work(evidence_.trace, owner);
  if (!work) return owner;
  if (owner.table == OwnerTable::kLaunch) {
    const std::uint32_t usual = evidence_.usual_launches.row_for(owner.row);
    if (usual != owner.row) return {usual, OwnerTable::kLaunch};
  }
  const Owner place = of(evidence_.host.index_of(work->thread), work->span);
  if (place.table == OwnerTable::kHostWait) return place;
  const HostTimeline::Neighbours& around = stretches_[place.row];
  return number(around.before) != 0 || number(around.after) != 0 ? place : owner;
}

}  // namespace synctrace
