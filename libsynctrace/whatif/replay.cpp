// SPDX-License-Identifier: Apache-2.0
#include "whatif/replay.h"

#include <algorithm>

namespace synctrace {
namespace {

// The view of one event: the lanes are independent of each other, and loops over them have a fixed length, so that a
// compiler makes vector instructions of them.
template <class Function>
inline void for_lanes(Function&& function) {
  for (std::size_t i = 0; i < kLanes; ++i) function(i);
}

class Pass {
 public:
  Pass(const ReplayProgram& program, const Scenarios& scenarios, ReplayState& state, Outcome& outcome)
      : program_(program),
        scenarios_(scenarios),
        state_(state),
        outcome_(outcome),
        plain_(std::all_of(scenarios.corners.begin(), scenarios.corners.end(),
                           [](const Corner& c) { return c == Corner{}; })),
        off_(scenarios.recorder_off) {}

  // In one place, but for what is long or rare: else gcc 12 makes a call of each event, 4 % slower.
  [[gnu::flatten]] void run(const ReplayEvent& head) {
    const std::uint8_t fixed = scenarios_.fixed[head.site];
    program_.events.visit(head, [&](const auto& event) { pass(head, event, fixed); });
  }

  Lanes start;  // start of the last work, for observers

 private:
  void pass(const ReplayEvent& head, const HostEvent& event, std::uint8_t fixed) {
    Lanes& now = state_.host[head.thread];
    const ShareRange& stays = program_.sites[head.site].stays.host;
    const Nanoseconds gone = fixed == 0 ? 0 : std::max<Nanoseconds>(0, event.pre - event.fixed_pre);
    for_lanes([&](std::size_t i) {
      now.at[i] += (fixed >> i & 1) != 0 ? event.fixed_pre + in_lane(stays, gone, i) : event.pre;
    });
  }
  void pass(const ReplayEvent& head, const CallEvent& event, std::uint8_t fixed) {
    host_before(head, event, fixed);
    call(head, own_of(event), fixed);
  }
  void pass(const ReplayEvent& head, const LaunchEvent& event, std::uint8_t fixed) {
    host_before(head, event, fixed);
    if (fixed != 0 && event.held) hold_up(head, event, own_of(event) - fixed_call(head, own_of(event)), fixed);
    work(head, event, fixed);
    call(head, own_of(event), fixed);
  }
  void pass(const ReplayEvent& head, const MoreWorkEvent& event, std::uint8_t fixed) { work(head, event, fixed); }
  void pass(const ReplayEvent& head, const CopyEvent& event, std::uint8_t fixed);
  void pass(const ReplayEvent& head, const WaitEvent& event, std::uint8_t fixed) {
    host_before(head, event, fixed);
    wait_until(head, event, target_of(event), fixed);
  }
  void pass(const ReplayEvent& head, const MarkEvent& event, std::uint8_t fixed);
  void pass(const ReplayEvent& head, const PostEvent& event, std::uint8_t) {
    for_lanes([&](std::size_t i) { state_.slots[event.slot].at[i] = state_.host[head.thread].at[i] + event.pre; });
  }
  void pass(const ReplayEvent& head, const BlockEvent& event, std::uint8_t fixed);
  void pass(const ReplayEvent& head, const InputEvent& event, std::uint8_t fixed);
  void pass(const ReplayEvent& head, const StepEvent& event, std::uint8_t fixed);

  template <class Event>
  void host_before(const ReplayEvent& head, const Event& event, std::uint8_t fixed);
  void call(const ReplayEvent& head, Nanoseconds own, std::uint8_t fixed);
  void hold_up(const ReplayEvent& head, const WorkWeights& event, Nanoseconds most_ns, std::uint8_t fixed);
  template <class Work>
  void work(const ReplayEvent& head, const Work& event, std::uint8_t fixed);
  Nanoseconds latency(const CopyEvent& event, std::size_t) const { return event.latency; }
  template <class Launched>
  Nanoseconds latency(const Launched& event, std::size_t lane) const;
  // Host time of a call that waits for nothing. Never below zero: what is the recorder's is limited (recorder_cost.h).
  template <class Event>
  Nanoseconds own_of(const Event& event) const {
    return event.own - part_of(event.ours, off_);
  }
  Nanoseconds fixed_call(const ReplayEvent& head, Nanoseconds own) const;
  Nanoseconds pinned_length(const LaunchEvent& event, std::size_t) const { return event.length; }  // it copies nothing
  template <class Transfer>
  Nanoseconds pinned_length(const Transfer& event, std::size_t lane) const;
  Nanoseconds graph_pause(Nanoseconds pause, std::size_t lane) const;
  Nanoseconds in_lane(const ShareRange& range, Nanoseconds ns, std::size_t lane) const;
  template <class Event>
  void wait_until(const ReplayEvent& head, const Event& event, const Lanes& target, std::uint8_t fixed);
  Nanoseconds deferred(const ReplayEvent& head, std::size_t lane, Nanoseconds own, Nanoseconds returned);
  const Lanes& target_of(const WaitEvent& event) const;

  const ReplayProgram& program_;
  const Scenarios& scenarios_;
  ReplayState& state_;
  Outcome& outcome_;
  const bool plain_;  // no lane takes anything otherwise than typical
  const RecorderOff off_;
};

// Host time of a call after its fix.
Nanoseconds Pass::fixed_call(const ReplayEvent& head, Nanoseconds own) const {
  const ReplayPace& pace = program_.pace;
  switch (program_.sites[head.site].fix) {
    case Fix::kRemoveWait:
    case Fix::kDropCall:
    case Fix::kNoProfiler: return 0;
    case Fix::kAsyncCopy: return head.kind == EventKind::kWait ? 0 : std::min(own, pace.async_call);
    case Fix::kCacheMemory: return std::min(own, pace.cached_call);
    case Fix::kGraph: return std::min(own, pace.graph_node);
    case Fix::kPreload: return std::min(own, pace.launch_call);
    default: return own;
  }
}

// Host time before a call. A graph has none, so there is nothing of the recorder's in it either. What goes has none.
template <class Event>
void Pass::host_before(const ReplayEvent& head, const Event& event, std::uint8_t fixed) {
  Lanes& now = state_.host[head.thread];
  const Nanoseconds usual = event.pre - part_of(event.before, off_);
  const FixSite& site = program_.sites[head.site];
  if (fixed == 0 || (site.fix != Fix::kGraph && site.fix != Fix::kDropCall))
    return for_lanes([&](std::size_t i) { now.at[i] += usual; });
  for_lanes([&](std::size_t i) {
    const Nanoseconds left = site.fix == Fix::kGraph ? event.pre : in_lane(site.stays.host, usual, i);
    now.at[i] += (fixed >> i & 1) == 0 ? usual : left;
  });
}

void Pass::call(const ReplayEvent& head, Nanoseconds own, std::uint8_t fixed) {
  Lanes& now = state_.host[head.thread];
  if (fixed == 0) return for_lanes([&](std::size_t i) { now.at[i] += own; });
  const Nanoseconds fixed_own = fixed_call(head, own);
  const ShareRange& stays = program_.sites[head.site].stays.host;
  for_lanes(
      [&](std::size_t i) { now.at[i] += (fixed >> i & 1) != 0 ? std::max(fixed_own, in_lane(stays, own, i)) : own; });
}

Nanoseconds Pass::in_lane(const ShareRange& range, Nanoseconds ns, std::size_t lane) const {
  const Corner::Latency latency = scenarios_.corners[lane].latency;
  if (latency == Corner::Latency::kTypical) return range.usual.of(ns);
  return (latency == Corner::Latency::kLow ? range.least : range.most).of(ns);
}

// A thread that could not issue its work in time, by no fault of what is fixed, cannot then either. But a copy from
// pageable memory begins late as the host moves its first bytes, 0.1 to 0.3 ms: from pinned memory it need not.
[[gnu::noinline, gnu::cold]] void Pass::hold_up(const ReplayEvent& head, const WorkWeights& event, Nanoseconds most_ns,
                                                std::uint8_t fixed) {
  constexpr Nanoseconds kMostStagingNs = 1'000'000;
  const bool is_staged = program_.sites[head.site].fix == Fix::kAsyncCopy;
  const Nanoseconds held_ns =
      std::clamp<Nanoseconds>(event.delay - (is_staged ? kMostStagingNs : 0), 0, std::max<Nanoseconds>(0, most_ns));
  Lanes& now = state_.host[head.thread];
  for_lanes(
      [&](std::size_t i) { now.at[i] += (fixed >> i & 1) == 0 || scenarios_.corners[i].without_delays ? 0 : held_ns; });
}

template <class Launched>
Nanoseconds Pass::latency(const Launched& event, std::size_t lane) const {
  if (!event.hidden) return event.latency;
  switch (scenarios_.corners[lane].latency) {
    case Corner::Latency::kLow: return std::min<Nanoseconds>(event.latency, program_.pace.latency_low);
    case Corner::Latency::kHigh:
      return std::clamp<Nanoseconds>(program_.pace.latency_high, event.latency,
                                     std::max<Nanoseconds>(event.latency, event.longest_latency));
    case Corner::Latency::kTypical: break;
  }
  return event.latency;
}

template <class Transfer>
Nanoseconds Pass::pinned_length(const Transfer& event, std::size_t lane) const {
  const bool slow = scenarios_.corners[lane].slow_link && !program_.pace.link_measured;
  return slow ? std::min(event.length, 2 * event.pinned_length) : event.pinned_length;
}

// On an H200 graphs of 100 and 3,600 nodes took 0.2 us a node more than their kernels had taken one by one, each
// recorded by itself (docs/measurements/archive/2026-11-22-h200-savings.md). At worst there is a pause as between
// launches, at best none.
Nanoseconds Pass::graph_pause(Nanoseconds pause, std::size_t lane) const {
  Nanoseconds usual = program_.pace.graph_pause;
  if (scenarios_.corners[lane].latency == Corner::Latency::kHigh)
    usual = std::max(usual, program_.pace.graph_pause_high);
  if (scenarios_.corners[lane].latency == Corner::Latency::kLow) usual = 0;
  return std::min(pause, usual);
}

// Starts when its call, the work before it and what it needs of other streams are there.
template <class Work>
[[gnu::noinline]] void Pass::work(const ReplayEvent& head, const Work& event, std::uint8_t fixed) {
  const Lanes& issued = state_.host[head.thread];
  const ReplayStream& stream = program_.streams[event.stream];
  Lanes& end = state_.stream_end[event.stream];
  Lanes& waits = state_.stream_wait[event.stream];
  const Lanes& other = state_.stream_end[stream.waits_for];
  Lanes& device = state_.device_end[stream.device];
  Lanes& feeds = state_.stream_end[stream.feeds];
  const bool ordered = event.pause != kNoEdge;
  const bool follows = event.handover != kNoEdge;
  const bool implied = stream.waits_for != event.stream;
  const Nanoseconds ours = part_of(event.gpu_ours, off_);
  const Nanoseconds usual_pause = without(event.pause, ours), usual_latency = without(event.latency, ours);
  for_lanes([&](std::size_t i) {
    const Nanoseconds before = ordered ? end.at[i] + usual_pause : kNeverNs;
    const Nanoseconds foreign = implied ? std::max(waits.at[i], other.at[i]) : waits.at[i];
    const Nanoseconds after = follows ? foreign + event.handover : kNeverNs;
    start.at[i] = std::max({issued.at[i] + usual_latency, before, after}) + event.delay;
  });
  if (fixed != 0 || !plain_) {
    const FixSite& site = program_.sites[head.site];
    const bool gets_shorter = !site.stays.is_compiled || fuses(program_.kernels[event.kernel].kind);
    for_lanes([&](std::size_t i) {
      const bool is_fixed = (fixed >> i & 1) != 0;
      const Nanoseconds pause = is_fixed && site.fix == Fix::kGraph ? graph_pause(usual_pause, i) : usual_pause;
      const Nanoseconds before = ordered ? end.at[i] + pause : kNeverNs;
      const Nanoseconds foreign = implied ? std::max(waits.at[i], other.at[i]) : waits.at[i];
      const Nanoseconds after = follows ? foreign + event.handover : kNeverNs;
      const bool in_time = scenarios_.corners[i].without_delays || (is_fixed && event.held);
      const bool quick = is_fixed && site.fix == Fix::kAsyncCopy;
      const Nanoseconds reach =
          quick ? std::min<Nanoseconds>(event.latency, program_.pace.latency_low) : latency(event, i);
      start.at[i] = std::max({issued.at[i] + without(reach, ours), before, after}) + (in_time ? 0 : event.delay);
      const KernelLengths* lengths = scenarios_.corners[i].lengths;
      const Nanoseconds runs = lengths == nullptr ? event.length : (*lengths)[event.kernel].of(event.length);
      const Nanoseconds lasts = quick                      ? pinned_length(event, i)
                                : is_fixed && gets_shorter ? in_lane(site.stays.gpu, runs, i)
                                                           : runs;
      end.at[i] = std::max(end.at[i], start.at[i] + lasts);
    });
  } else {
    for_lanes([&](std::size_t i) { end.at[i] = std::max(end.at[i], start.at[i] + event.length); });
  }
  for_lanes([&](std::size_t i) {
    device.at[i] = std::max(device.at[i], end.at[i]);
    feeds.at[i] = std::max(feeds.at[i], end.at[i]);
    state_.latest.at[i] = std::max(state_.latest.at[i], end.at[i]);
    waits.at[i] = kNeverNs;
  });
  if (event.end_slot != kNoSlot) state_.slots[event.end_slot] = end;
}

const Lanes& Pass::target_of(const WaitEvent& event) const {
  switch (event.wait_for) {
    case WaitFor::kDevice: return state_.device_end[program_.streams[event.stream].device];
    case WaitFor::kSlot: return state_.slots[event.slot];
    default: return state_.stream_end[event.stream];
  }
}

// When the host goes on behind a deferred call, which by itself lasts to `own`; when the data are waited for is kept.
Nanoseconds Pass::deferred(const ReplayEvent& head, std::size_t lane, Nanoseconds own, Nanoseconds returned) {
  const Corner::Use use = scenarios_.corners[lane].use;
  if (use == Corner::Use::kNever) return own;
  if (program_.sites[head.site].fix == Fix::kDeferWait || use == Corner::Use::kNextWait) {
    Nanoseconds& owed = state_.owed[head.thread].at[lane];
    owed = std::max(owed, returned);
    return own;
  }
  Nanoseconds& due = state_.read_due[head.site].at[lane];
  const Nanoseconds until = std::max(own, due);
  Nanoseconds& next = program_.steps > 0 ? state_.read_now[head.site].at[lane] : due;
  next = std::max(next, returned);
  return until;
}

// The call's own time is part of it: one that finds its work done takes as long.
template <class Event>
void Pass::wait_until(const ReplayEvent& head, const Event& event, const Lanes& target, std::uint8_t fixed) {
  const Nanoseconds unblocked = own_of(event);
  Lanes& now = state_.host[head.thread];
  Lanes& owed = state_.owed[head.thread];
  Lanes& waited = outcome_.waited[head.site];
  for_lanes([&](std::size_t i) {
    const Nanoseconds until = std::max(target.at[i], owed.at[i] - event.ret);
    const Nanoseconds begin = now.at[i];
    const bool here = (fixed >> i & 1) == 0;
    waited.at[i] += here ? std::max<Nanoseconds>(0, until - begin) : 0;
    now.at[i] = here ? std::max(begin + unblocked, until + event.ret) : begin;
    owed.at[i] = here ? kNeverNs : owed.at[i];
  });
  if (fixed == 0) return;
  const Fix fix = program_.sites[head.site].fix;
  const bool defers = fix == Fix::kDeferRead || fix == Fix::kDeferWait;
  const Nanoseconds deferred_own = fixed_call(head, unblocked);
  for_lanes([&](std::size_t i) {
    if ((fixed >> i & 1) == 0) return;
    // A number that is read every 50 steps is not even asked for in the others.
    const bool is_gone = fix == Fix::kDeferRead && scenarios_.corners[i].use == Corner::Use::kNever;
    const Nanoseconds own = is_gone ? 0 : deferred_own;
    now.at[i] = defers ? deferred(head, i, now.at[i] + own, target.at[i] + event.ret) : now.at[i] + own;
  });
}

void Pass::pass(const ReplayEvent& head, const CopyEvent& event, std::uint8_t fixed) {
  host_before(head, event, fixed);
  const Lanes& end = state_.stream_end[event.stream];
  const Lanes before = end;
  const bool waits = event.wait_for != WaitFor::kNothing;
  if (fixed != 0 && event.held)
    hold_up(head, event, waits ? event.delay : own_of(event) - fixed_call(head, own_of(event)), fixed);
  work(head, event, fixed);
  switch (event.wait_for) {
    case WaitFor::kOwnStart: return wait_until(head, event, start, fixed);
    case WaitFor::kOwnEnd: return wait_until(head, event, end, fixed);
    case WaitFor::kStream: return wait_until(head, event, before, fixed);
    default: return wait_until(head, event, everywhere(kNeverNs), fixed);
  }
}

void Pass::pass(const ReplayEvent& head, const MarkEvent& event, std::uint8_t fixed) {
  host_before(head, event, fixed);
  Lanes& now = state_.host[head.thread];
  for_lanes([&](std::size_t i) { now.at[i] += own_of(event); });
  Lanes& slot = state_.slots[event.slot];
  Lanes& waits = state_.stream_wait[event.stream];
  const Lanes& end = state_.stream_end[event.stream];
  if (event.records) return for_lanes([&](std::size_t i) { slot.at[i] = std::max(end.at[i], waits.at[i]); });
  for_lanes([&](std::size_t i) {
    if ((fixed >> i & 1) == 0) waits.at[i] = std::max(waits.at[i], slot.at[i]);
  });
}

void Pass::pass(const ReplayEvent& head, const BlockEvent& event, std::uint8_t fixed) {
  Lanes& now = state_.host[head.thread];
  const Lanes& slot = state_.slots[event.slot];
  Lanes& waited = outcome_.waited[head.site];
  for_lanes([&](std::size_t i) {
    const Nanoseconds begin = now.at[i] + event.pre;
    const Nanoseconds until = (fixed >> i & 1) != 0 ? begin : std::max(begin, slot.at[i] + event.ret);
    waited.at[i] += until - begin;
    now.at[i] = until;
  });
}

void Pass::pass(const ReplayEvent& head, const InputEvent& event, std::uint8_t fixed) {
  Lanes& now = state_.host[head.thread];
  Lanes& waited = outcome_.waited[head.site];
  const Lanes made = event.slot == kNoSlot ? everywhere(kNeverNs) : state_.slots[event.slot];
  for_lanes([&](std::size_t i) {
    const Nanoseconds begin = now.at[i] + event.pre;
    const bool keeps_pace = event.keeps_pace && scenarios_.corners[i].loader_keeps_pace && made.at[i] != kNeverNs;
    Nanoseconds until = keeps_pace ? std::max(begin, made.at[i] + event.ret) : begin + event.own;
    if ((fixed >> i & 1) != 0) until = begin;
    waited.at[i] += until - begin;
    now.at[i] = until;
  });
  if (event.slot != kNoSlot) state_.slots[event.slot] = now;
}

void Pass::pass(const ReplayEvent& head, const StepEvent& event, std::uint8_t) {
  Lanes& mark = outcome_.steps.emplace_back(state_.latest);
  if (!event.begins) return;
  const Lanes& now = state_.host[head.thread];
  if (event.anew) for_lanes([&](std::size_t i) { mark.at[i] = std::max(mark.at[i], now.at[i] + event.lead); });
  state_.read_due.swap(state_.read_now);
  std::fill(state_.read_now.begin(), state_.read_now.end(), everywhere(kNeverNs));
}

Lanes end_of(const ReplayState& state) {
  Lanes end = state.latest;
  for (const Lanes& host : state.host) for_lanes([&](std::size_t i) { end.at[i] = std::max(end.at[i], host.at[i]); });
  return end;
}

}  // namespace

Outcome replay(const ReplayProgram& program, const Scenarios& scenarios, std::size_t first, std::size_t last,
               ReplayState& state) {
  Outcome outcome;
  outcome.waited.resize(program.sites.size());
  Pass pass(program, scenarios, state, outcome);
  for (std::size_t i = first; i < last; ++i) pass.run(program.events[i]);
  outcome.end = end_of(state);
  return outcome;
}

Outcome replay(const ReplayProgram& program, const Scenarios& scenarios) {
  ReplayState state = initial_state(program);
  return replay(program, scenarios, 0, program.events.size(), state);
}

Outcome replay(const ReplayProgram& program, const Scenarios& scenarios, ReplayObserver& observer) {
  ReplayState state = initial_state(program);
  Outcome outcome;
  outcome.waited.resize(program.sites.size());
  Pass pass(program, scenarios, state, outcome);
  for (std::size_t i = 0; i < program.events.size(); ++i) {
    const ReplayEvent& head = program.events[i];
    pass.run(head);
    const WorkWeights* work = program.events.work(head);
    observer.passed(i, head.kind == EventKind::kStep ? kNeverNs : state.host[head.thread].at[0],
                    work != nullptr ? pass.start.at[0] : kNeverNs,
                    work != nullptr ? pass.start.at[0] + work->length : kNeverNs);
  }
  outcome.end = end_of(state);
  return outcome;
}

}  // namespace synctrace
