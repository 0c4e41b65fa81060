// SPDX-License-Identifier: Apache-2.0
// Makes a program of a trace, turn by turn, while the recorded times go by. Only build_program.h is meant for others.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attribution/attribute.h"
#include "kernels/kernel_classes.h"
#include "whatif/build_program.h"
#include "whatif/graph_ranges.h"
#include "whatif/host_segments.h"
#include "whatif/host_turns.h"
#include "whatif/issued_work.h"
#include "whatif/link_speed.h"
#include "whatif/recorder_cost.h"
#include "whatif/wait_targets.h"

namespace synctrace {

class ProgramBuilder {
 public:
  ProgramBuilder(const Attribution& attribution, const PlaceOf& place_of, std::vector<RecordedTimes>* recorded,
                 std::string_view graph_range, const WhatGoes& what_goes)
      : attribution_(attribution),
        evidence_(*attribution.evidence),
        trace_(evidence_.trace),
        issued_(evidence_.correlation, trace_),
        link_(trace_),
        recorder_(trace_),
        kernels_(trace_),
        sites_(evidence_, place_of, what_goes),
        edges_(evidence_, program_),
        segments_(evidence_, sites_),
        targets_(evidence_, edges_),
        graph_ranges_(trace_, graph_range),
        recorded_(recorded) {}

  ReplayProgram run();

 private:
  struct Thread {
    Nanoseconds now_ns = 0;
    Nanoseconds pre_ns = 0;  // host time of no site since its last event
    bool begun = false;
    bool reads = false;           // an asynchronous copy to the host is on its way
    bool passes_on = false;       // its last wait was for a batch
    std::uint16_t slow_pool = 0;  // site of a pool that had to take memory anew since the last wait
  };
  struct Cost {
    Nanoseconds usual_ns = 0;  // time of a call that finds nothing to wait for
    bool works_after = false;  // the cost comes behind the wait, not instead of it
    Nanoseconds moves_ns = 0;  // most time of the host's own work behind the wait
  };
  struct Loader {
    std::uint32_t slot = kNoSlot;
    Nanoseconds made_ns = kNeverNs;  // time of the last batch that tells its pace
    Nanoseconds last_ns = kNeverNs;  // time of the last wait for it,
    std::uint32_t last_step = 0;     // and the step of that wait
  };

  void begin_threads(const std::vector<Turn>& turns);
  void take(const Turn& turn);

  // The thread's next event, but for its weights.
  template <class Event>
  Event& emit(std::uint32_t thread, std::uint16_t site) {
    Event& event = program_.events.add<Event>(thread, site);
    event.pre = std::exchange(threads_[thread].pre_ns, 0);
    return event;
  }
  // The recorder's part of a call, whose own time is known, and of the time before it.
  template <class Event>
  void take_recorder_off(const Turn& turn, bool issues, Event& event) const {
    const RecorderCost::OfCall cost = recorder_.of(event.own, free_ns_, issues, has_stack(turn));
    event.ours = cost.inside_ns;
    event.before = cost.before_ns;
  }
  bool has_stack(const Turn& turn) const {
    if (turn.kind == TurnKind::kLaunch) return number(trace_.launches[turn.row].stack) != 0;
    return turn.kind == TurnKind::kCall && number(trace_.calls[turn.row].stack) != 0;
  }
  void passed(std::uint32_t thread, Nanoseconds now_ns, const Operation* work = nullptr);
  void passed_late(std::uint32_t thread, Nanoseconds now_ns, Nanoseconds late_ns, const Operation* work = nullptr);
  void advance(std::uint32_t thread, Nanoseconds until_ns);
  void wake_by_guess(std::uint32_t thread, Nanoseconds until_ns);
  std::uint32_t new_post();

  void advance_in_graph(std::uint32_t thread, Nanoseconds until_ns);
  bool in_graph(std::uint32_t thread, Nanoseconds t) const {
    return graph_ranges_.any() && thread != nobody_ && graph_ranges_.covers(evidence_.host.thread(thread), t);
  }
  void step(const Turn& turn);
  void launch(const Turn& turn);
  void call(const Turn& turn);
  void issuing_call(const Turn& turn, std::uint32_t first);
  void event_call(const Turn& turn);
  void poll(const Turn& turn);
  void post(const Turn& turn);
  void sleep(const Turn& turn);
  void work(const Turn& turn);
  void block(const Turn& turn, Nanoseconds end_ns, std::uint32_t slot, std::uint16_t site);
  void await_batch(const Turn& turn, Nanoseconds end_ns, std::uint16_t site);
  void plain(const Turn& turn, Nanoseconds end_ns, std::uint16_t site);
  void wait(const Turn& turn, Nanoseconds end_ns, const WaitTarget& target, Cost cost, std::uint16_t site);
  struct WaitWeights {
    Nanoseconds own = 0;
    Nanoseconds ret = 0;
    Nanoseconds late = 0;  // from when it could have returned to when it did: its thread was held up
  };
  WaitWeights weigh(TimeSpan span, const WaitTarget& target, Cost cost);
  WorkEdges::Latency issue(std::uint32_t operation, Nanoseconds host_ns, Nanoseconds issued_ns, WorkWeights& work);
  bool is_held(std::uint32_t operation, const WorkWeights& work, Nanoseconds returned_ns) const {
    return work.delay > 0 && trace_.operations[operation].span.begin_ns <= returned_ns;
  }
  template <class Launched>
  void issue_launched(std::uint32_t operation, Nanoseconds host_ns, Nanoseconds issued_ns, Launched& work) {
    const WorkEdges::Latency latency = issue(operation, host_ns, issued_ns, work);
    work.hidden = latency.hidden;
    work.longest_latency = latency.longest_ns;
  }
  void issue_more(std::uint32_t thread, std::uint32_t operation, Nanoseconds issued_ns, std::uint16_t site,
                  Nanoseconds returned_ns);
  std::uint32_t post_before(std::uint32_t thread, Nanoseconds time_ns);
  void more_work(std::uint32_t thread, std::uint32_t operation, Nanoseconds issued_ns, std::uint16_t site,
                 Nanoseconds returned_ns);
  Nanoseconds await_room(const Turn& turn, Nanoseconds end_ns);
  std::uint16_t site_of_call(std::uint32_t thread, const Call& row);
  Cost cost_of(const Call& row) const {
    const bool frees = row.category == ApiCategory::kFree || row.category == ApiCategory::kHostFree;
    constexpr std::uint64_t kMostBytes = 1'000'000'000'000;
    const auto moves_ns = static_cast<Nanoseconds>(std::min(row.bytes, kMostBytes));  // at 1 GB/s
    return {evidence_.calibration.cost_of(row.api, row.category).p50_ns, frees, moves_ns};
  }

  const Attribution& attribution_;
  const Evidence& evidence_;
  const Trace& trace_;
  IssuedWork issued_;
  LinkSpeed link_;
  RecorderCost recorder_;
  KernelClasses kernels_;
  FixSites sites_;
  ReplayProgram program_;
  WorkEdges edges_;
  HostSegments segments_;
  WaitTargets targets_;
  GraphRanges graph_ranges_;
  std::vector<RecordedTimes>* recorded_;
  std::vector<Thread> threads_;
  Nanoseconds free_ns_ = 0;   // host time before the turn that is taken, since its thread's last one
  std::uint32_t nobody_ = 0;  // the thread of work without a call
  std::unordered_map<std::uint32_t, std::uint32_t> posts_;             // host wait -> slot
  std::unordered_map<std::uint32_t, std::uint16_t> dependency_sites_;  // slot of an event -> who recorded it
  std::unordered_map<std::uint16_t, Loader> loaders_;                  // by site
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace synctrace
