// SPDX-License-Identifier: Apache-2.0
#include "findings/calls/waits.h"

#include <unordered_map>

#include "attribution/wait_table.h"
#include "findings/calls/line_rules.h"

namespace synctrace {
namespace {

WaitFigures one_call(Verdict verdict, Basis basis, Nanoseconds host_blocked_ns, Nanoseconds host_ns) noexcept {
  WaitFigures figures;
  figures.calls = 1;
  figures.waited = verdict == Verdict::kBlocked ? 1 : 0;
  figures.redundant = verdict == Verdict::kRedundant ? 1 : 0;
  figures.own_copy = verdict == Verdict::kOwnWork ? 1 : 0;
  figures.unclear = verdict == Verdict::kUnknown ? 1 : 0;
  figures.by_length = basis == Basis::kLength ? 1 : 0;
  figures.waited_by_length = figures.waited * figures.by_length;
  figures.host_blocked_ns = host_blocked_ns;
  figures.host_ns = figures.longest_ns = host_ns;
  return figures;
}

// A synchronisation that finds nothing left to wait for is not redundant when the copy before it did the waiting.
Verdict verdict_of_pair(Verdict copy, Verdict sync) noexcept {
  for (const Verdict stronger : {Verdict::kBlocked, Verdict::kUnknown, Verdict::kOwnWork, Verdict::kRedundant}) {
    if (copy == stronger || sync == stronger) return stronger;
  }
  return Verdict::kReturnedAtOnce;
}

// The verdict is one by length only where no call that has it was judged by the timeline.
WaitFigures figures_of_pair(const Call& copy, const Judgement& copied, const Call& sync, const Judgement& synced) {
  const Verdict verdict = verdict_of_pair(copied.verdict, synced.verdict);
  const auto is_sure = [&](const Judgement& one) { return one.verdict == verdict && one.basis == Basis::kTimeline; };
  const Basis basis = is_sure(copied) || is_sure(synced) ? Basis::kTimeline : Basis::kLength;
  WaitFigures figures = one_call(verdict, basis, add_saturated(copied.blocked_ns, synced.blocked_ns),
                                 add_saturated(copy.span.length_ns(), sync.span.length_ns()));
  figures.bytes = copy.bytes + sync.bytes;
  figures.failed = copy.status != 0 || sync.status != 0 ? 1 : 0;
  return figures;
}

}  // namespace

Waits::Waits(const Trace& trace, const Attribution& attribution, StackPlaces& places)
    : trace_(trace), attribution_(attribution) {
  add_calls(places);
  for (std::uint32_t row = 0; row < trace.polls.size(); ++row)
    events_.push_back({OwnerTable::kPoll, row, kNoCall, places.place_of(trace.polls[row].stack)});
  add_sleeps(places);
}

void Waits::add_calls(StackPlaces& places) {
  events_.reserve(trace_.calls.size());
  std::unordered_map<ThreadId, std::size_t> last;  // the event of each thread's last call, from 1
  for (std::uint32_t row = 0; row < trace_.calls.size(); ++row) {
    const Call& call = trace_.calls[row];
    const StackPlace place = places.place_of(call.stack);
    std::size_t& before = last[call.thread];
    PossibleWait* copy = before == 0 || number(place) == 0 ? nullptr : &events_[before - 1];
    if (copy != nullptr && !copy->is_pair() && is_one_statement(trace_.calls[copy->row], call, places)) {
      copy->sync_row = row;
    } else {
      events_.push_back({OwnerTable::kCall, row, kNoCall, place});
      before = events_.size();
    }
  }
}

void Waits::add_sleeps(StackPlaces& places) {
  const std::vector<GpuSleep>& sleeps = attribution_.sleeps.host_waits;
  for (std::uint32_t row = 0; row < sleeps.size(); ++row) {
    // A library's thread that slept for the sake of another is that one's wait.
    if (!sleeps[row].waited || sleeps[row].owner != row) continue;
    // Threads of a library that run nothing of the program's wait for the next task as well, and nobody can fix that.
    const StackId stack = trace_.host_waits[row].stack;
    const StackTraits traits = attribution_.evidence->stacks.traits(stack);
    if (number(stack) != 0 && !traits.python && !traits.user) continue;
    events_.push_back({OwnerTable::kHostWait, row, kNoCall, places.place_of(stack)});
  }
}

bool Waits::can_wait(const PossibleWait& event) const {
  if (event.table == OwnerTable::kPoll) return is_wait(trace_.polls[event.row]);
  if (event.table != OwnerTable::kCall || event.is_pair()) return true;
  return synctrace::can_wait(trace_.calls[event.row], judgement(event.row));
}

WaitFigures Waits::figures(const PossibleWait& event) const {
  if (event.table == OwnerTable::kPoll) return figures_of(trace_.polls[event.row]);
  if (event.table == OwnerTable::kHostWait)
    return figures_of(trace_.host_waits[event.row], attribution_.sleeps.host_waits[event.row]);
  const Call& call = trace_.calls[event.row];
  if (!event.is_pair()) return figures_of(call, judgement(event.row));
  return figures_of_pair(call, judgement(event.row), trace_.calls[event.sync_row], judgement(event.sync_row));
}

WaitParts Waits::parts(const PossibleWait& event) const {
  const bool sync_leads = event.is_pair() && rule_of(trace_.calls[event.row]) == nullptr;
  return sync_leads ? WaitParts{event.sync_row, event.row} : WaitParts{event.row, event.sync_row};
}

WaitOrigin Waits::origin(const PossibleWait& event) const {
  const auto of = [](const auto& row) { return WaitOrigin{row.span.begin_ns, row.thread, row.stack}; };
  if (event.table == OwnerTable::kPoll) return of(trace_.polls[event.row]);
  return event.table == OwnerTable::kHostWait ? of(trace_.host_waits[event.row]) : of(trace_.calls[event.row]);
}

bool is_pageable_copy(const Call& call) noexcept {
  return is_copy(call.category) &&
         host_memory(call.copy_kind, call.source_memory, call.target_memory) == MemoryKind::kPageable;
}

WaitFigures figures_of(const Call& call, const Judgement& judgement) noexcept {
  WaitFigures figures = one_call(judgement.verdict, judgement.basis, judgement.blocked_ns, call.span.length_ns());
  figures.bytes = call.bytes;
  figures.failed = call.status != 0 ? 1 : 0;
  return figures;
}

WaitFigures figures_of(const Poll& poll) noexcept {
  const Nanoseconds length_ns = poll.span.length_ns();
  const bool waited = is_wait(poll);
  WaitFigures figures = one_call(waited ? Verdict::kBlocked : Verdict::kReturnedAtOnce, Basis::kTimeline,
                                 waited ? length_ns : 0, length_ns);
  figures.calls = poll.count;
  figures.not_ready = poll.not_ready_count;
  return figures;
}

WaitFigures figures_of(const HostWait& wait, const GpuSleep& sleep) noexcept {
  const Nanoseconds length_ns = wait.span.length_ns();
  return one_call(sleep.waited ? Verdict::kBlocked : Verdict::kReturnedAtOnce, Basis::kTimeline,
                  sleep.waited ? length_ns : 0, length_ns);
}

}  // namespace synctrace
