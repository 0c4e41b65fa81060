// SPDX-License-Identifier: Apache-2.0
#include "whatif/replay.h"

#include <algorithm>

namespace synctrace {
namespace {

// What one event sees: the lanes one after the other are independent, and loops over them have a fixed length, so that
// a compiler makes vector instructions of them.
template <class Function>
inline void for_lanes(Function&& function) {
  for (std::size_t i = 0; i < kLanes; ++i) function(i);
}

constexpr Lanes everywhere(Nanoseconds value) {
  Lanes lanes;
  lanes.at.fill(value);
  return lanes;
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
        ours_(scenarios.without_recorder ? ~Nanoseconds{0} : 0) {}

  void run(const ReplayEvent& event) {
    const std::uint8_t fixed = scenarios_.fixed[event.site];
    switch (event.kind) {
      case EventKind::kHost:
        return host(event, fixed);
      case EventKind::kCall:
        return call(event, fixed);
      case EventKind::kLaunch:
        return launch(event, fixed);
      case EventKind::kCopy:
        return copy(event, fixed);
      case EventKind::kWork:
        return work(event, state_.host[event.thread], fixed);
      case EventKind::kWait:
        return wait(event, fixed);
      case EventKind::kRecord:
      case EventKind::kStreamWait:
        return event_call(event, fixed);
      case EventKind::kPost:
      case EventKind::kBlock:
        return hand_over(event, fixed);
      case EventKind::kInput:
        return input(event, fixed);
      case EventKind::kStep:
        return step();
    }
  }

  Lanes start;  // of the last work, for observers

 private:
  void host(const ReplayEvent& event, std::uint8_t fixed) {
    Lanes& now = state_.host[event.thread];
    for_lanes([&](std::size_t i) { now.at[i] += (fixed >> i & 1) != 0 ? event.fixed : event.pre; });
  }

  void call(const ReplayEvent& event, std::uint8_t fixed);
  void launch(const ReplayEvent& event, std::uint8_t fixed);
  void copy(const ReplayEvent& event, std::uint8_t fixed);
  void wait(const ReplayEvent& event, std::uint8_t fixed);
  void event_call(const ReplayEvent& event, std::uint8_t fixed);
  void hand_over(const ReplayEvent& event, std::uint8_t fixed);
  void input(const ReplayEvent& event, std::uint8_t fixed);
  void step();

  void work(const ReplayEvent& event, const Lanes& issued, std::uint8_t fixed);
  Nanoseconds latency(const ReplayEvent& event, std::size_t lane) const;
  // Host time of a call that waits for nothing.
  Nanoseconds own_of(const ReplayEvent& event) const { return event.own - (event.ours & ours_); }
  Nanoseconds fixed_call(const ReplayEvent& event) const;
  Nanoseconds pinned_length(const ReplayEvent& event, std::size_t lane) const;
  Nanoseconds graph_pause(const ReplayEvent& event, std::size_t lane) const;
  void wait_until(const ReplayEvent& event, const Lanes& target, std::uint8_t fixed);
  Nanoseconds deferred(const ReplayEvent& event, std::size_t lane, Nanoseconds own, Nanoseconds target);
  const Lanes& target_of(const ReplayEvent& event) const;
  void hold_in_queue(const ReplayEvent& event, Lanes& now);

  const ReplayProgram& program_;
  const Scenarios& scenarios_;
  ReplayState& state_;
  Outcome& outcome_;
  const bool plain_;        // no lane takes anything otherwise than typical
  const Nanoseconds ours_;  // mask of what the recorder took
};

// Host time of a call after its fix.
Nanoseconds Pass::fixed_call(const ReplayEvent& event) const {
  const ReplayPace& pace = program_.pace;
  switch (program_.sites[event.site].fix) {
    case Fix::kRemoveWait:
    case Fix::kNoProfiler:
      return 0;
    case Fix::kAsyncCopy:
      return event.kind == EventKind::kWait ? 0 : std::min(own_of(event), pace.async_call);
    case Fix::kCacheMemory:
      return std::min(own_of(event), pace.cached_call);
    case Fix::kGraph:
      return std::min(own_of(event), pace.graph_node);
    case Fix::kPreload:
      return std::min(own_of(event), pace.launch_call);
    default:
      return own_of(event);
  }
}

void Pass::call(const ReplayEvent& event, std::uint8_t fixed) {
  Lanes& now = state_.host[event.thread];
  const Nanoseconds own = event.pre + own_of(event);
  if (fixed == 0) return for_lanes([&](std::size_t i) { now.at[i] += own; });
  const Nanoseconds fixed_own = event.pre + fixed_call(event);
  for_lanes([&](std::size_t i) { now.at[i] += (fixed >> i & 1) != 0 ? fixed_own : own; });
}

Nanoseconds Pass::latency(const ReplayEvent& event, std::size_t lane) const {
  if (!event.hidden) return event.latency;
  switch (scenarios_.corners[lane].latency) {
    case Corner::Latency::kLow:
      return std::min<Nanoseconds>(event.latency, program_.pace.latency_low);
    case Corner::Latency::kHigh:
      return std::clamp<Nanoseconds>(program_.pace.latency_high, event.latency,
                                     std::max<Nanoseconds>(event.latency, event.fixed));
    case Corner::Latency::kTypical:
      break;
  }
  return event.latency;
}

Nanoseconds Pass::pinned_length(const ReplayEvent& event, std::size_t lane) const {
  const bool slow = scenarios_.corners[lane].slow_link && !program_.pace.link_measured;
  return slow ? std::min(event.length, 2 * event.fixed) : event.fixed;
}

// On an H200 graphs of 100 and 3,600 nodes took 0.2 us a node more than their kernels had taken one by one, each
// recorded by itself (docs/measurements/archive/2026-11-22-h200-savings.md). At worst there is a pause as between
// launches, at best none.
Nanoseconds Pass::graph_pause(const ReplayEvent& event, std::size_t lane) const {
  Nanoseconds usual = program_.pace.graph_pause;
  if (scenarios_.corners[lane].latency == Corner::Latency::kHigh)
    usual = std::max(usual, program_.pace.graph_pause_high);
  if (scenarios_.corners[lane].latency == Corner::Latency::kLow) usual = 0;
  return std::min<Nanoseconds>(event.pause, usual);
}

// Starts when the last of what it needs is there: its call, the work before it, work in other streams.
void Pass::work(const ReplayEvent& event, const Lanes& issued, std::uint8_t fixed) {
  const ReplayStream& stream = program_.streams[event.stream];
  Lanes& end = state_.stream_end[event.stream];
  Lanes& waits = state_.stream_wait[event.stream];
  const Lanes& other = state_.stream_end[stream.waits_for];
  Lanes& device = state_.device_end[stream.device];
  Lanes& feeds = state_.stream_end[stream.feeds];
  const bool ordered = event.pause != kNoEdge;
  const bool follows = event.handover != kNoEdge;
  const bool implied = stream.waits_for != event.stream;
  for_lanes([&](std::size_t i) {
    const Nanoseconds before = ordered ? end.at[i] + event.pause : kNeverNs;
    const Nanoseconds foreign = implied ? std::max(waits.at[i], other.at[i]) : waits.at[i];
    const Nanoseconds after = follows ? foreign + event.handover : kNeverNs;
    start.at[i] = std::max({issued.at[i] + event.latency, before, after}) + event.delay;
  });
  if (fixed != 0 || !plain_) {
    const Fix fix = program_.sites[event.site].fix;
    for_lanes([&](std::size_t i) {
      const bool is_fixed = (fixed >> i & 1) != 0;
      const Nanoseconds pause = is_fixed && fix == Fix::kGraph ? graph_pause(event, i) : event.pause;
      const Nanoseconds before = ordered ? end.at[i] + pause : kNeverNs;
      const Nanoseconds foreign = implied ? std::max(waits.at[i], other.at[i]) : waits.at[i];
      const Nanoseconds after = follows ? foreign + event.handover : kNeverNs;
      const Nanoseconds delay = scenarios_.corners[i].without_delays ? 0 : event.delay;
      const bool quick = is_fixed && fix == Fix::kAsyncCopy;
      const Nanoseconds reach =
          quick ? std::min<Nanoseconds>(event.latency, program_.pace.latency_low) : latency(event, i);
      start.at[i] = std::max({issued.at[i] + reach, before, after}) + delay;
      const Nanoseconds lasts = quick ? pinned_length(event, i) : event.length;
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
  if (event.keeps_end) state_.slots[event.slot] = end;
}

// A stream takes so many launches; the next one waits until one of them has started.
void Pass::hold_in_queue(const ReplayEvent& event, Lanes& now) {
  const std::uint32_t size = program_.streams[event.stream].queue;
  if (size == 0) return;
  std::vector<Lanes>& queue = state_.queues[event.stream];
  std::uint32_t& count = state_.queued[event.stream];
  Lanes& oldest = queue[count % size];
  if (count >= size) for_lanes([&](std::size_t i) { now.at[i] = std::max(now.at[i], oldest.at[i] + event.ret); });
  oldest = start;
  ++count;
}

void Pass::launch(const ReplayEvent& event, std::uint8_t fixed) {
  Lanes& now = state_.host[event.thread];
  for_lanes([&](std::size_t i) { now.at[i] += event.pre; });
  work(event, now, fixed);
  const Nanoseconds own = own_of(event);
  if (fixed == 0) {
    for_lanes([&](std::size_t i) { now.at[i] += own; });
  } else {
    const Nanoseconds fixed_own = fixed_call(event);
    for_lanes([&](std::size_t i) { now.at[i] += (fixed >> i & 1) != 0 ? fixed_own : own; });
  }
  hold_in_queue(event, now);
}

const Lanes& Pass::target_of(const ReplayEvent& event) const {
  switch (event.wait_for) {
    case WaitFor::kDevice:
      return state_.device_end[program_.streams[event.stream].device];
    case WaitFor::kSlot:
      return state_.slots[event.slot];
    default:
      return state_.stream_end[event.stream];
  }
}

// What a deferred wait leaves of the call at its own place; when the data are waited for is kept.
Nanoseconds Pass::deferred(const ReplayEvent& event, std::size_t lane, Nanoseconds own, Nanoseconds target) {
  const Corner::Use use = scenarios_.corners[lane].use;
  if (use == Corner::Use::kNever) return own;
  const bool next_wait = program_.sites[event.site].fix == Fix::kDeferWait || use == Corner::Use::kNextWait;
  if (next_wait) {
    Nanoseconds& owed = state_.owed[event.thread].at[lane];
    owed = std::max(owed, target + event.ret);
    return own;
  }
  Nanoseconds& due = state_.read_due[event.site].at[lane];
  const Nanoseconds until = std::max(own, due);
  Nanoseconds& next = program_.steps > 0 ? state_.read_now[event.site].at[lane] : due;
  next = std::max(next, target + event.ret);
  return until;
}

// The call's own time is part of it: one that finds its work done takes as long.
void Pass::wait_until(const ReplayEvent& event, const Lanes& target, std::uint8_t fixed) {
  const Nanoseconds unblocked = own_of(event);
  Lanes& now = state_.host[event.thread];
  Lanes& owed = state_.owed[event.thread];
  Lanes& waited = outcome_.waited[event.site];
  for_lanes([&](std::size_t i) {
    const Nanoseconds until = std::max(target.at[i], owed.at[i] - event.ret);
    const Nanoseconds begin = now.at[i];
    const bool here = (fixed >> i & 1) == 0;
    waited.at[i] += here ? std::max<Nanoseconds>(0, until - begin) : 0;
    now.at[i] = here ? std::max(begin + unblocked, until + event.ret) : begin;
    owed.at[i] = here ? kNeverNs : owed.at[i];
  });
  if (fixed == 0) return;
  const Fix fix = program_.sites[event.site].fix;
  const bool defers = fix == Fix::kDeferRead || fix == Fix::kDeferWait;
  const Nanoseconds own = fixed_call(event);
  for_lanes([&](std::size_t i) {
    if ((fixed >> i & 1) == 0) return;
    now.at[i] = defers ? deferred(event, i, now.at[i] + own, target.at[i]) : now.at[i] + own;
  });
}

void Pass::copy(const ReplayEvent& event, std::uint8_t fixed) {
  Lanes& now = state_.host[event.thread];
  for_lanes([&](std::size_t i) { now.at[i] += event.pre; });
  const Lanes before = target_of(event);
  work(event, now, fixed);
  switch (event.wait_for) {
    case WaitFor::kNothing:
      return wait_until(event, everywhere(kNeverNs), fixed);
    case WaitFor::kOwnStart:
      return wait_until(event, start, fixed);
    case WaitFor::kOwnEnd:
      return wait_until(event, state_.stream_end[event.stream], fixed);
    default:
      return wait_until(event, before, fixed);
  }
}

void Pass::wait(const ReplayEvent& event, std::uint8_t fixed) {
  Lanes& now = state_.host[event.thread];
  for_lanes([&](std::size_t i) { now.at[i] += event.pre; });
  wait_until(event, target_of(event), fixed);
}

void Pass::event_call(const ReplayEvent& event, std::uint8_t fixed) {
  Lanes& now = state_.host[event.thread];
  for_lanes([&](std::size_t i) { now.at[i] += event.pre + own_of(event); });
  Lanes& slot = state_.slots[event.slot];
  Lanes& waits = state_.stream_wait[event.stream];
  if (event.kind == EventKind::kRecord) {
    const Lanes& end = state_.stream_end[event.stream];
    return for_lanes([&](std::size_t i) { slot.at[i] = std::max(end.at[i], waits.at[i]); });
  }
  for_lanes([&](std::size_t i) {
    if ((fixed >> i & 1) == 0) waits.at[i] = std::max(waits.at[i], slot.at[i]);
  });
}

void Pass::hand_over(const ReplayEvent& event, std::uint8_t fixed) {
  Lanes& now = state_.host[event.thread];
  Lanes& slot = state_.slots[event.slot];
  if (event.kind == EventKind::kPost) return for_lanes([&](std::size_t i) { slot.at[i] = now.at[i] + event.pre; });
  Lanes& waited = outcome_.waited[event.site];
  for_lanes([&](std::size_t i) {
    const Nanoseconds begin = now.at[i] + event.pre;
    const Nanoseconds until = (fixed >> i & 1) != 0 ? begin : std::max(begin + event.own, slot.at[i] + event.ret);
    waited.at[i] += until - begin;
    now.at[i] = until;
  });
}

void Pass::input(const ReplayEvent& event, std::uint8_t fixed) {
  Lanes& now = state_.host[event.thread];
  Lanes& made = state_.slots[event.slot];
  Lanes& waited = outcome_.waited[event.site];
  for_lanes([&](std::size_t i) {
    const Nanoseconds begin = now.at[i] + event.pre;
    const bool keeps_pace = event.keeps_pace && scenarios_.corners[i].loader_keeps_pace && made.at[i] != kNeverNs;
    Nanoseconds until = keeps_pace ? std::max(begin, made.at[i] + event.ret) : begin + event.own;
    if ((fixed >> i & 1) != 0) until = begin;
    waited.at[i] += until - begin;
    now.at[i] = made.at[i] = until;
  });
}

void Pass::step() {
  outcome_.steps.push_back(state_.latest);
  state_.read_due.swap(state_.read_now);
  std::fill(state_.read_now.begin(), state_.read_now.end(), everywhere(kNeverNs));
}

Lanes end_of(const ReplayState& state) {
  Lanes end = state.latest;
  for (const Lanes& host : state.host) for_lanes([&](std::size_t i) { end.at[i] = std::max(end.at[i], host.at[i]); });
  return end;
}

}  // namespace

ReplayState initial_state(const ReplayProgram& program) {
  ReplayState state;
  for (const Nanoseconds begin_ns : program.thread_begins) state.host.push_back(everywhere(begin_ns));
  const Lanes never = everywhere(kNeverNs);
  state.owed.assign(program.thread_begins.size(), never);
  state.stream_end.assign(program.streams.size(), never);
  state.stream_wait.assign(program.streams.size(), never);
  state.device_end.assign(program.devices, never);
  state.slots.assign(program.slots, never);
  state.read_now.assign(program.sites.size(), never);
  state.read_due.assign(program.sites.size(), never);
  state.queued.assign(program.streams.size(), 0);
  for (const ReplayStream& stream : program.streams) state.queues.emplace_back(stream.queue, never);
  state.latest = never;
  return state;
}

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
    const ReplayEvent& event = program.events[i];
    pass.run(event);
    const bool works =
        event.kind == EventKind::kLaunch || event.kind == EventKind::kCopy || event.kind == EventKind::kWork;
    observer.passed(i, event.kind == EventKind::kStep ? kNeverNs : state.host[event.thread].at[0],
                    works ? pass.start.at[0] : kNeverNs, works ? pass.start.at[0] + event.length : kNeverNs);
  }
  outcome.end = end_of(state);
  return outcome;
}

}  // namespace synctrace
