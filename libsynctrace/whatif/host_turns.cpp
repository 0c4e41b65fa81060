// SPDX-License-Identifier: Apache-2.0
#include "whatif/host_turns.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "steps/step_lengths.h"

namespace synctrace {
namespace {

class Collector {
 public:
  explicit Collector(const Evidence& evidence)
      : evidence_(evidence),
        trace_(evidence.trace),
        has_call_(trace_.calls.size()),
        has_launch_(trace_.launches.size()) {}

  std::vector<Turn> run(const Steps& steps) {
    add_steps(steps.steps);
    for (HostTimeline::Index thread = 0; thread < evidence_.host.threads(); ++thread) add_items(thread);
    add_polls();
    add_work_of_others();
    std::sort(turns_.begin(), turns_.end(), [](const Turn& a, const Turn& b) {
      return std::tie(a.time_ns, a.kind, a.thread, a.row) < std::tie(b.time_ns, b.kind, b.thread, b.row);
    });
    return std::move(turns_);
  }

 private:
  void add_steps(const std::vector<Step>& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const TimeSpan host = steps[i].host;
      if (begins_anew(steps, i))
        add(host.begin_ns, host.begin_ns, 0, first_issuer(host), TurnKind::kNewStep);
      else
        add(host.begin_ns, host.begin_ns, 0, HostTimeline::kNoThread, TurnKind::kStep);
      if (i + 1 == steps.size() || begins_anew(steps, i + 1))
        add(host.end_ns, host.end_ns, 0, HostTimeline::kNoThread, TurnKind::kStepEnd);
    }
  }

  // The thread whose code the step is, as far as the trace tells.
  HostTimeline::Index first_issuer(TimeSpan host) const {
    const auto rows = evidence_.correlation.by_issue();
    const auto row = std::partition_point(rows.begin(), rows.end(), [&](std::uint32_t each) {
      return evidence_.correlation.issued_ns(each) < host.begin_ns;
    });
    if (row == rows.end() || evidence_.correlation.issued_ns(*row) >= host.end_ns) return HostTimeline::kNoThread;
    return issuer_of(*row);
  }

  HostTimeline::Index issuer_of(std::uint32_t operation) const {
    const auto issuer = evidence_.correlation.issuer_of(operation);
    if (!issuer) return HostTimeline::kNoThread;
    return evidence_.host.index_of(issuer->is_launch ? trace_.launches[issuer->row].thread
                                                     : trace_.calls[issuer->row].thread);
  }

  void add(Nanoseconds time_ns, Nanoseconds begin_ns, std::uint32_t row, HostTimeline::Index thread, TurnKind kind) {
    turns_.push_back({time_ns, begin_ns, row, thread, kind});
  }

  void add_items(HostTimeline::Index thread) {
    evidence_.host.for_each(thread, [&](Owner owner, TimeSpan span) {
      if (owner.table == OwnerTable::kHostWait) return add_sleep(thread, owner.row, span);
      const bool launches = owner.table == OwnerTable::kLaunch;
      (launches ? has_launch_ : has_call_)[owner.row] = true;
      add(span.begin_ns, span.begin_ns, owner.row, thread, launches ? TurnKind::kLaunch : TurnKind::kCall);
    });
  }

  void add_sleep(HostTimeline::Index thread, std::uint32_t row, TimeSpan span) {
    const HostWait& wait = trace_.host_waits[row];
    add(span.end_ns, span.begin_ns, row, thread, TurnKind::kSleepEnd);
    const HostTimeline::Index waker = waker_of(evidence_, wait);
    if (waker == HostTimeline::kNoThread) return;
    const Nanoseconds woken_ns = std::min(wait.wake_ns, span.end_ns);
    add(woken_ns, woken_ns, row, waker, TurnKind::kPost);
  }

  void add_polls() {
    for (std::uint32_t row = 0; row < trace_.polls.size(); ++row) {
      const Poll& poll = trace_.polls[row];
      const HostTimeline::Index thread = evidence_.host.index_of(poll.thread);
      if (thread == HostTimeline::kNoThread || poll.span.empty()) continue;
      const HostItem around = evidence_.host.item_before(thread, poll.span.end_ns);
      if (around.owner.table != OwnerTable::kNone) continue;
      const Nanoseconds begin_ns = std::max(poll.span.begin_ns, around.span.begin_ns);
      add(begin_ns, begin_ns, row, thread, TurnKind::kPoll);
    }
  }

  // Work whose call is not known, as when it was launched before a window opened or while one closed, moves with the
  // thread that issues the next work to its stream, or issued the last: these wait for one another.
  void add_work_of_others() {
    const auto rows = evidence_.correlation.by_issue();
    struct Issued {
      std::uint32_t next = kNoRow;  // work of a known call
      std::uint32_t last = kNoRow;
    };
    std::unordered_map<StreamKey, Issued, StreamKeyHash> streams;
    auto stream = streams.end();
    std::vector<std::pair<std::uint32_t, const Issued*>> trailing;
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      const StreamKey key{trace_.operations[*row].context, trace_.operations[*row].stream};
      if (stream == streams.end() || stream->first != key) stream = streams.try_emplace(key).first;
      Issued& issued = stream->second;
      const auto issuer = evidence_.correlation.issuer_of(*row);
      if (issuer) issued.next = *row;
      if (issued.last == kNoRow) issued.last = issued.next;
      if (issuer && (issuer->is_launch ? has_launch_ : has_call_)[issuer->row]) continue;
      if (issued.next == kNoRow)
        trailing.emplace_back(*row, &issued);
      else
        add_work(*row, issued.next);
    }
    for (const auto& [row, issued] : trailing) add_work(row, issued->last);
  }

  // `like`: work of the same thread; kNoRow: of nobody.
  void add_work(std::uint32_t row, std::uint32_t like) {
    const Nanoseconds issued_ns = evidence_.correlation.issued_ns(row);
    add(issued_ns, issued_ns, row, like == kNoRow ? HostTimeline::kNoThread : issuer_of(like), TurnKind::kWork);
  }

  const Evidence& evidence_;
  const Trace& trace_;
  std::vector<bool> has_call_;  // rows that have a turn
  std::vector<bool> has_launch_;
  std::vector<Turn> turns_;
};

}  // namespace

HostTimeline::Index waker_of(const Evidence& evidence, const HostWait& wait) {
  if (number(wait.waker) == 0 || wait.wake_ns <= wait.span.begin_ns || wait.waker == wait.thread)
    return HostTimeline::kNoThread;
  return evidence.host.index_of(wait.waker);
}

std::vector<StepMarks> step_marks(const std::vector<Step>& steps) {
  std::vector<StepMarks> marks;
  std::size_t next = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool is_last = i + 1 == steps.size() || begins_anew(steps, i + 1);
    marks.push_back({next, next + 1});
    next += is_last ? 2 : 1;
  }
  return marks;
}

std::vector<Turn> host_turns(const Evidence& evidence, const Steps& steps) { return Collector(evidence).run(steps); }

}  // namespace synctrace
