// SPDX-License-Identifier: Apache-2.0
#include "attribution/walk.h"

#include <algorithm>

#include "attribution/waker.h"
#include "model/tolerances.h"

namespace synctrace {
namespace {

bool is_other_engine(const Operation& work) {
  return work.kind == OperationKind::kCopy || work.kind == OperationKind::kMemset;
}
Nanoseconds longest_pause(const DevicePace& pace) { return 2 * pace.pause_p95_ns; }

TimeSpan span_of(const Trace& trace, Correlation::Issuer issuer) {
  return issuer.is_launch ? trace.launches[issuer.row].span : trace.calls[issuer.row].span;
}

ThreadId thread_of(const Trace& trace, Correlation::Issuer issuer) {
  return issuer.is_launch ? trace.launches[issuer.row].thread : trace.calls[issuer.row].thread;
}

Owner owner_of(const std::optional<Correlation::Issuer>& issuer) {
  if (!issuer) return {};
  return {issuer->row, issuer->is_launch ? OwnerTable::kLaunch : OwnerTable::kCall};
}

}  // namespace

Walk::Walk(const Evidence& evidence) : evidence_(evidence), classifier_(evidence), owners_(evidence) {
  constexpr std::uint64_t kJumpsOfARecord = 4;
  const Trace& trace = evidence.trace;
  jumps_left_ = kMostJumps * kMostJumps +
                kJumpsOfARecord * (trace.host_waits.size() + trace.samples.size() + trace.operations.size());
}

void Walk::explain(DeviceId device, std::span<const Gap> gaps, std::vector<Part>& parts) {
  device_ = device;
  const auto known = static_cast<std::ptrdiff_t>(parts.size());
  for (const Gap& gap : gaps) {
    if (gap.copying) continue;
    found_.clear();
    explain_idle(gap);
    parts.insert(parts.end(), found_.rbegin(), found_.rend());
  }
  const bool any_copying = std::any_of(gaps.begin(), gaps.end(), [](const Gap& gap) { return gap.copying; });
  if (!any_copying) return;
  explain_copying(gaps, parts);
  std::sort(parts.begin() + known, parts.end(),
            [](const Part& a, const Part& b) { return a.span.begin_ns < b.span.begin_ns; });
}

void Walk::explain_idle(const Gap& gap) {
  thread_ = {};
  inferred_ = false;
  steps_ = 0;
  const bool first_window =
      !evidence_.trace.windows.empty() && gap.span.begin_ns == evidence_.trace.windows.front().span.begin_ns;
  const bool last_window =
      !evidence_.trace.windows.empty() && gap.span.end_ns == evidence_.trace.windows.back().span.end_ns;
  if (gap.before_first && first_window) return add(gap.span, CauseKind::kStartup, {}, Confidence::kHigh);
  if (gap.opener != kNoRow) return walk_back(gap.opener, gap.span.begin_ns);
  add(gap.span, last_window ? CauseKind::kShutdown : CauseKind::kCapture, {}, Confidence::kHigh);
}

// One walk for all of them: back from the kernel that all of them preceded.
void Walk::explain_copying(std::span<const Gap> gaps, std::vector<Part>& parts) {
  const auto is_copying = [](const Gap& gap) { return gap.copying; };
  const Gap& first = *std::find_if(gaps.begin(), gaps.end(), is_copying);
  thread_ = {};
  inferred_ = false;
  steps_ = 0;
  found_.clear();
  if (first.opener == kNoRow) {
    add({first.span.begin_ns, gaps.back().span.end_ns}, CauseKind::kShutdown, {}, Confidence::kHigh);
  } else {
    walk_back(first.opener, first.span.begin_ns);
  }
  auto part = found_.rbegin();
  for (const Gap& gap : gaps) {
    if (!gap.copying) continue;
    while (part != found_.rend() && part->span.end_ns <= gap.span.begin_ns) ++part;
    for (auto next = part; next != found_.rend() && next->span.begin_ns < gap.span.end_ns; ++next) {
      Part piece = *next;
      piece.span = intersect(piece.span, gap.span);
      piece.copying = true;
      parts.push_back(piece);
    }
  }
}

void Walk::add(TimeSpan span, CauseKind kind, Owner owner, Confidence confidence, Reason reason) {
  if (span.empty()) return;
  owner = owners_.of_work(owner);
  Part part;
  part.span = span;
  part.thread = thread_;
  part.owner = owner;
  part.activity = owner;
  part.kind = kind;
  part.activity_kind = kind;
  // That nothing came before, or after, is said of all that time.
  const TimeSpan claimed{kind == CauseKind::kStartup ? 0 : span.begin_ns,
                         kind == CauseKind::kShutdown ? kLatestTime : span.end_ns};
  part.confidence =
      inferred_ || may_lack_records(evidence_.lossy, claimed) || lacks_names(owner) ? Confidence::kLow : confidence;
  part.reason = reason;
  found_.push_back(part);
}

Walk::Requirement Walk::last_requirement(std::uint32_t operation) const {
  Requirement last;
  const auto end_of = [&](std::uint32_t row) { return evidence_.trace.operations[row].span.end_ns; };
  if (const std::uint32_t row = evidence_.order.predecessor(operation); row != kNoRow)
    last = {row, nullptr, end_of(row)};
  const StreamOrder::Dependency* by_event = evidence_.order.dependency(operation);
  if (by_event != nullptr && end_of(by_event->source) > last.end_ns)
    last = {by_event->source, by_event, end_of(by_event->source)};
  return last;
}

// Whether something between the issue of the work, or of what it came after, and its start may not be in the trace.
bool Walk::rests_on_losses(std::uint32_t operation, const Requirement& requirement) const {
  Nanoseconds since_ns = evidence_.correlation.issued_ns(operation);
  if (requirement.operation != kNoRow)
    since_ns = std::min(since_ns, evidence_.correlation.issued_ns(requirement.operation));
  return may_lack_records(evidence_.lossy, {since_ns, evidence_.trace.operations[operation].span.begin_ns + 1});
}

// The kind of a wait or a sample rests on names in its stack, which may be lost as well.
bool Walk::lacks_names(Owner owner) const {
  if (evidence_.lossy.empty()) return false;
  if (owner.table == OwnerTable::kHostWait)
    return evidence_.stacks.traits(evidence_.trace.host_waits[owner.row].stack).incomplete;
  return owner.table == OwnerTable::kSample &&
         evidence_.stacks.traits(evidence_.trace.samples[owner.row].stack).incomplete;
}

// Whether the call came early enough that the device could have started the work at `since_ns`.
bool Walk::was_ready(std::uint32_t operation, TimeSpan call, Nanoseconds since_ns) const {
  const Operation& work = evidence_.trace.operations[operation];
  const DevicePace& pace = evidence_.pace_of(work.device);
  if (call.begin_ns + pace.latency_p95_ns <= since_ns) return true;
  const bool follows_at_once = work.span.begin_ns - since_ns <= longest_pause(pace);
  return follows_at_once && call.begin_ns + pace.latency_p10_ns <= since_ns;
}

void Walk::walk_back(std::uint32_t operation, Nanoseconds from_ns) {
  const Trace& trace = evidence_.trace;
  Nanoseconds t = trace.operations[operation].span.begin_ns;
  while (t > from_ns) {
    const auto issuer = evidence_.correlation.issuer_of(operation);
    const Requirement requirement = last_requirement(operation);
    if (!evidence_.lossy.empty()) inferred_ = inferred_ || rests_on_losses(operation, requirement);
    if (!issuer) return add({from_ns, t}, CauseKind::kCapture, {}, Confidence::kHigh, Reason::kNoLaunch);
    const Nanoseconds free_ns = std::clamp(requirement.end_ns, from_ns, t);
    const bool in_graph = requirement.operation != kNoRow && trace.operations[requirement.operation].correlation ==
                                                                 trace.operations[operation].correlation;
    if (!in_graph && !was_ready(operation, span_of(trace, *issuer), free_ns)) {
      thread_ = thread_of(trace, *issuer);
      explain_latency(operation, *issuer, from_ns);
      return walk_host(evidence_.host.index_of(thread_), std::clamp(span_of(trace, *issuer).end_ns, from_ns, t),
                       from_ns);
    }
    if (in_graph) {
      add({free_ns, t}, CauseKind::kDispatch, owner_of(issuer), Confidence::kHigh);
    } else {
      explain_start(operation, requirement, {free_ns, t});
    }
    if (requirement.end_ns <= from_ns) return;
    // It waited for work that ran into the gap: on another device, or a transfer.
    const Operation& source = trace.operations[requirement.operation];
    const Nanoseconds begin_ns = std::clamp(source.span.begin_ns, from_ns, free_ns);
    const auto source_issuer = evidence_.correlation.issuer_of(requirement.operation);
    add({begin_ns, free_ns}, source.device == device_ ? CauseKind::kCopyDependency : CauseKind::kDeviceDependency,
        owner_of(source_issuer ? source_issuer : issuer), Confidence::kHigh);
    if (begin_ns >= t) return add({from_ns, t}, CauseKind::kUnknown, {}, Confidence::kLow, Reason::kLateOnDevice);
    operation = requirement.operation;
    t = begin_ns;
  }
}

// The time from when the device could have started the work until it did.
void Walk::explain_start(std::uint32_t operation, const Requirement& requirement, TimeSpan span) {
  const Operation& work = evidence_.trace.operations[operation];
  const DevicePace& pace = evidence_.pace_of(work.device);
  const Owner issuer = owner_of(evidence_.correlation.issuer_of(operation));
  if (span.length_ns() <= longest_pause(pace)) return add(span, CauseKind::kDispatch, issuer, Confidence::kHigh);
  const bool resolved_last =
      requirement.by_event != nullptr && requirement.end_ns + longest_pause(pace) >= span.begin_ns;
  if (const std::uint32_t function = evidence_.host_function_before(operation); !resolved_last && function != kNoRow) {
    return add(span, CauseKind::kHostFunction, {function, OwnerTable::kLaunch}, Confidence::kMedium);
  }
  if (!resolved_last && is_other_engine(work) && span.length_ns() <= kEngineSwitchNs) {
    return add(span, CauseKind::kDispatch, issuer, Confidence::kHigh);
  }
  if (!resolved_last) return add(span, CauseKind::kUnknown, issuer, Confidence::kLow, Reason::kLateOnDevice);
  const bool same_device = evidence_.trace.operations[requirement.operation].device == work.device;
  const Owner record =
      requirement.by_event->call == kNoRow ? issuer : Owner{requirement.by_event->call, OwnerTable::kCall};
  add(span, same_device ? CauseKind::kStreamDependency : CauseKind::kDeviceDependency, record, Confidence::kHigh);
}

// From the return of the call that issued the work to the work's start.
void Walk::explain_latency(std::uint32_t operation, Correlation::Issuer issuer, Nanoseconds from_ns) {
  const Operation& work = evidence_.trace.operations[operation];
  const TimeSpan call = span_of(evidence_.trace, issuer);
  const Nanoseconds begin_ns = std::clamp(call.end_ns, from_ns, work.span.begin_ns);
  const Nanoseconds ordinary_ns = call.begin_ns + evidence_.pace_of(work.device).latency_p95_ns + kLatencySlackNs;
  const Nanoseconds late_ns = std::clamp(ordinary_ns, begin_ns, work.span.begin_ns);
  const Owner owner = owner_of(issuer);
  if (evidence_.is_first_of_kernel(operation)) {
    add({late_ns, work.span.begin_ns}, CauseKind::kModuleLoad, owner, Confidence::kMedium);
  } else {
    add({late_ns, work.span.begin_ns}, CauseKind::kUnknown, owner, Confidence::kLow, Reason::kSlowDispatch);
  }
  const HostTimeline::Index thread = evidence_.host.index_of(thread_);
  const bool in_run = thread != HostTimeline::kNoThread && evidence_.runs.covers(thread, call.end_ns);
  add({begin_ns, late_ns}, in_run ? CauseKind::kLaunchBound : CauseKind::kLatency, owner, Confidence::kHigh);
}

void Walk::walk_host(HostTimeline::Index thread, Nanoseconds t, Nanoseconds from_ns) {
  int jumps = 0;
  while (t > from_ns) {
    if (thread == HostTimeline::kNoThread) {
      return add({from_ns, t}, CauseKind::kUnknown, {}, Confidence::kLow, Reason::kNoHostRecords);
    }
    const bool lost = jumps > kMostJumps || jumps_left_ == 0;
    if (lost) return add({from_ns, t}, CauseKind::kUnknown, {}, Confidence::kLow, Reason::kTooManyJumps);
    if (steps_++ == kMostSteps)
      return add({from_ns, t}, CauseKind::kUnknown, {}, Confidence::kLow, Reason::kTooManySteps);
    thread_ = evidence_.host.thread(thread);
    const HostPiece piece = classifier_.piece_before(thread, t, from_ns, device_);
    const Nanoseconds before_ns = t;
    if (piece.asleep && jump(piece, thread, t, piece.begin_ns)) {
      --jumps_left_;
      jumps = t == before_ns ? jumps + 1 : 0;
      continue;
    }
    add_piece(piece, thread, {piece.begin_ns, t}, piece.kind, piece.asleep ? Confidence::kLow : piece.confidence);
    t = piece.begin_ns;
    jumps = 0;
  }
}

Owner Walk::owner_of_piece(const HostPiece& piece, HostTimeline::Index thread, TimeSpan span) {
  switch (piece.owner.table) {
    case OwnerTable::kNone: return owners_.of_open_time(thread, evidence_.host.item_before(thread, span.end_ns).span);
    case OwnerTable::kHostWait:
    case OwnerTable::kSample: return owners_.of(thread, span, piece.owner);
    default: return piece.owner;
  }
}

// Work that a library's thread did for the line that waited for it belongs to that line; the thread's own record stays
// its activity.
void Walk::add_piece(const HostPiece& piece, HostTimeline::Index thread, TimeSpan span, CauseKind kind,
                     Confidence confidence) {
  if (span.empty()) return;
  const Owner owner = owner_of_piece(piece, thread, span);
  const bool is_open = piece.owner.table == OwnerTable::kNone;
  add(span, is_open ? owners_.kind_of_open_time(owner, kind) : kind, owner, confidence);
  if (!is_open && !(owner == piece.owner)) found_.back().activity = piece.owner;
}

// Goes on with the thread that ended the sleep, from when it did. False when nobody is known to have.
bool Walk::jump(const HostPiece& piece, HostTimeline::Index& thread, Nanoseconds& t, Nanoseconds begin_ns) {
  if (piece.owner.table == OwnerTable::kHostWait) {
    const HostWait& wait = evidence_.trace.host_waits[piece.owner.row];
    const HostTimeline::Index waker = evidence_.host.index_of(wait.waker);
    if (number(wait.waker) != 0 && waker != HostTimeline::kNoThread && waker != thread &&
        wait.wake_ns > wait.span.begin_ns) {
      const Nanoseconds woken_ns = std::clamp(wait.wake_ns, begin_ns, t);
      add_piece(piece, thread, {woken_ns, t}, piece.kind, Confidence::kHigh);
      t = woken_ns;
      thread = waker;
      return true;
    }
    if (number(wait.waker) != 0) return false;  // woken by a thread without records, or before it slept
  }
  const auto guess = guess_waker(evidence_, thread, t);
  if (!guess) return false;
  inferred_ = true;
  const Nanoseconds woken_ns = std::clamp(guess->time_ns, begin_ns, t);
  add_piece(piece, thread, {woken_ns, t}, CauseKind::kPeerThread, Confidence::kLow);
  t = woken_ns;
  thread = guess->thread;
  return true;
}

}  // namespace synctrace
