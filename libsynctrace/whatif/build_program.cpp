// SPDX-License-Identifier: Apache-2.0
#include "whatif/build_program.h"

#include "attribution/attribute.h"
#include "attribution/wait_table.h"
#include "model/tolerances.h"
#include "whatif/program_builder.h"

namespace synctrace {

ReplayProgram ProgramBuilder::run() {
  nobody_ = evidence_.host.threads();
  threads_.resize(nobody_ + 1);
  program_.begin_ns = trace_.first_ns;
  program_.pace.link_measured = link_.is_measured();
  program_.first_work_ns = trace_.operations.empty() ? trace_.first_ns : trace_.operations.front().span.begin_ns;
  const std::vector<Turn> turns = host_turns(evidence_, attribution_.steps);
  constexpr Nanoseconds kLongest = Nanoseconds{1} << 47;  // 39 hours: sums over all threads stay in range
  if (trace_.last_ns - trace_.first_ns > kLongest) program_.refusal = "the recording is too long to be run again";
  if (threads_.size() > 0xffff) program_.refusal = "the program uses more threads than can be simulated";
  begin_threads(turns);
  if (graph_ranges_.any()) program_.graph_site = sites_.of_graph_range();
  program_.events.reserve(turns.size() + turns.size() / 4, trace_.launches.size());
  program_.end_ns = kNeverNs;
  for (Turn turn : turns) {
    if (!program_.refusal.empty()) break;
    // Records of a damaged trace may overlap; a thread does one thing after the other.
    if (!is_of_step(turn.kind))
      turn.begin_ns = std::max(turn.begin_ns, threads_[std::min(turn.thread, nobody_)].now_ns);
    take(turn);
  }
  program_.sites = sites_.take();
  program_.kernels = kernels_.all();
  return std::move(program_);
}

void ProgramBuilder::begin_threads(const std::vector<Turn>& turns) {
  for (const Turn& turn : turns) {
    if (is_of_step(turn.kind)) continue;
    Thread& thread = threads_[std::min(turn.thread, nobody_)];
    thread.now_ns = thread.begun ? std::min(thread.now_ns, turn.begin_ns) : turn.begin_ns;
    thread.begun = true;
  }
  for (const Thread& thread : threads_) program_.thread_begins.push_back(thread.now_ns);
}

void ProgramBuilder::take(const Turn& turn) {
  free_ns_ = turn.begin_ns - threads_[std::min(turn.thread, nobody_)].now_ns;
  switch (turn.kind) {
    case TurnKind::kStepEnd:
    case TurnKind::kStep:
    case TurnKind::kNewStep: return step(turn);
    case TurnKind::kPost: return post(turn);
    case TurnKind::kSleepEnd: return sleep(turn);
    case TurnKind::kCall: return call(turn);
    case TurnKind::kLaunch: return launch(turn);
    case TurnKind::kPoll: return poll(turn);
    case TurnKind::kWork: return work(turn);
  }
}

// The recorded times after the last event.
void ProgramBuilder::passed(std::uint32_t thread, Nanoseconds now_ns, const Operation* work) {
  threads_[thread].now_ns = now_ns;
  program_.end_ns = std::max(program_.end_ns, now_ns);
  if (work != nullptr) program_.end_ns = std::max(program_.end_ns, work->span.end_ns);
  if (recorded_ == nullptr) return;
  RecordedTimes& times = recorded_->emplace_back();
  times.host_ns = now_ns;
  if (work != nullptr) times.start_ns = work->span.begin_ns;
  if (work != nullptr) times.end_ns = work->span.end_ns;
}

// After a wait whose thread was held up behind it: that is host time, which stays where it is if the wait goes.
void ProgramBuilder::passed_late(std::uint32_t thread, Nanoseconds now_ns, Nanoseconds late_ns, const Operation* work) {
  passed(thread, now_ns - late_ns, work);
  threads_[thread].pre_ns += late_ns;
  threads_[thread].now_ns = now_ns;
}

// Host time up to a moment: what some site's fix would change becomes an event, the rest goes to the next one.
void ProgramBuilder::advance(std::uint32_t thread, Nanoseconds until_ns) {
  Thread& state = threads_[thread];
  if (until_ns <= state.now_ns) return;
  if (thread == nobody_) {
    state.pre_ns += until_ns - state.now_ns;
    state.now_ns = until_ns;
    return;
  }
  if (in_graph(thread, until_ns) && in_graph(thread, state.now_ns + 1)) return advance_in_graph(thread, until_ns);
  wake_by_guess(thread, until_ns);  // then no time is left to cut
  for (const HostSegments::Segment& segment : segments_.cut(thread, {state.now_ns, until_ns})) {
    const Nanoseconds length_ns = segment.span.length_ns();
    if (segment.site == 0) {
      state.pre_ns += length_ns;
      continue;
    }
    const Nanoseconds plain_ns = std::exchange(state.pre_ns, 0);
    HostEvent& event = emit<HostEvent>(thread, segment.site);
    event.pre = plain_ns + length_ns;
    const bool is_halved = segment.family == FixFamily::kHost && !sites_.is_needless(segment.site);
    event.fixed_pre = plain_ns + (is_halved ? length_ns / 2 : 0);
    passed(thread, segment.span.end_ns);
  }
  state.now_ns = until_ns;
}

void ProgramBuilder::advance_in_graph(std::uint32_t thread, Nanoseconds until_ns) {
  const Nanoseconds length_ns = until_ns - threads_[thread].now_ns;
  HostEvent& event = emit<HostEvent>(thread, program_.graph_site);
  event.fixed_pre = event.pre;
  event.pre += length_ns;
  passed(thread, until_ns);
}

void ProgramBuilder::step(const Turn& turn) {
  const std::uint32_t thread = std::min(turn.thread, nobody_);
  StepEvent& event = program_.events.add<StepEvent>(thread, 0);
  event.begins = turn.kind != TurnKind::kStepEnd;
  event.anew = turn.kind == TurnKind::kNewStep;
  // Its thread may be inside of a call: then the step begins before the end of that.
  if (event.anew) event.lead = turn.time_ns - (threads_[thread].now_ns - threads_[thread].pre_ns);
  if (event.begins) ++program_.steps;
  if (recorded_ != nullptr) recorded_->emplace_back();
}

WorkEdges::Latency ProgramBuilder::issue(std::uint32_t operation, Nanoseconds host_ns, Nanoseconds issued_ns,
                                         WorkWeights& work) {
  const WorkEdges::Latency latency = edges_.issue(operation, host_ns, issued_ns, work);
  work.gpu_ours = recorder_.of_work(trace_.operations[operation]);
  work.end_slot = targets_.kept_slot(operation);
  if (work.end_slot != kNoSlot) edges_.keep_end(work.end_slot, work.stream);
  const Operation& row = trace_.operations[operation];
  if (row.kind == OperationKind::kKernel) work.kernel = kernels_.of(row.name);
  return latency;
}

// Work of a thread that makes no call at that moment.
void ProgramBuilder::issue_more(std::uint32_t thread, std::uint32_t operation, Nanoseconds issued_ns,
                                std::uint16_t site, Nanoseconds returned_ns) {
  const Nanoseconds now_ns = threads_[thread].now_ns;
  MoreWorkEvent& event = program_.events.add<MoreWorkEvent>(thread, site);
  issue_launched(operation, now_ns, issued_ns, event);
  event.held = is_held(operation, event, returned_ns);
  const Operation& row = trace_.operations[operation];
  event.pinned_length = row.kind == OperationKind::kCopy ? link_.pinned_length(row) : row.span.length_ns();
  passed(thread, now_ns, &row);
}

// Further pieces of work of a call.
void ProgramBuilder::more_work(std::uint32_t thread, std::uint32_t operation, Nanoseconds issued_ns, std::uint16_t site,
                               Nanoseconds returned_ns) {
  for (; operation != kNoRow; operation = issued_.next(operation))
    issue_more(thread, operation, issued_ns, site, returned_ns);
}

void ProgramBuilder::launch(const Turn& turn) {
  const Launch& row = trace_.launches[turn.row];
  advance(turn.thread, turn.begin_ns);
  const std::uint32_t first = issued_.of_launch(turn.row);
  const std::uint16_t site =
      in_graph(turn.thread, turn.begin_ns + 1) ? program_.graph_site : segments_.site_of_launch(turn.row);
  const Nanoseconds end_ns = std::max(turn.begin_ns, row.span.end_ns);
  if (first == kNoRow) return plain(turn, end_ns, site);
  const Nanoseconds begin_ns = await_room(turn, end_ns);
  LaunchEvent& event = emit<LaunchEvent>(turn.thread, site);
  event.own = end_ns - begin_ns;
  take_recorder_off(turn, true, event);
  issue_launched(first, begin_ns, row.span.begin_ns, event);
  event.held = is_held(first, event, end_ns);
  passed(turn.thread, end_ns, &trace_.operations[first]);
  more_work(turn.thread, issued_.next(first), row.span.begin_ns, site, kNeverNs);
}

// Where the GPU's queue is full, the first part of a call that issues work is a wait. Returns when it ends, or begins
// where there is none. Kernels that take less time make room sooner.
Nanoseconds ProgramBuilder::await_room(const Turn& turn, Nanoseconds end_ns) {
  const WaitTarget target = targets_.of_full_queue({turn.kind == TurnKind::kLaunch, turn.row});
  if (target.wait_for == WaitFor::kNothing || target.until_ns <= turn.begin_ns) return turn.begin_ns;
  const Nanoseconds until_ns = std::max(target.until_ns, end_ns - evidence_.launch_p50_ns);
  if (until_ns > end_ns) return turn.begin_ns;
  wait(turn, until_ns, target, {}, 0);
  free_ns_ = 0;
  return until_ns;
}

std::uint16_t ProgramBuilder::site_of_call(std::uint32_t thread, const Call& row) {
  std::uint8_t sights = 0;
  const bool copies = is_copy(row.category);
  if (copies && goes_to_host(row.copy_kind))
    sights = row.bytes <= kScalarBytes ? FixSites::kReadsScalar : FixSites::kReadsData;
  if (copies && comes_from_host(row.copy_kind)) sights = FixSites::kUploads;
  Thread& state = threads_[thread];
  const bool syncs = wait_habit(row) == WaitHabit::kExplicit;
  // The host looks at what an asynchronous copy brings after the next wait.
  if (syncs && state.reads) sights = FixSites::kReadsData;
  state.reads = copies ? state.reads || goes_to_host(row.copy_kind) : state.reads && !syncs;
  return sites_.of_call(row, sights);
}

void ProgramBuilder::call(const Turn& turn) {
  const Call& row = trace_.calls[turn.row];
  if (row.category == ApiCategory::kStreamEvent && row.object != 0) return event_call(turn);
  advance(turn.thread, turn.begin_ns);
  const std::uint32_t first = issued_.of_call(turn.row);
  if (first != kNoRow) return issuing_call(turn, first);
  const std::uint16_t site = site_of_call(turn.thread, row);
  if (is_slow_pool_call(row)) threads_[turn.thread].slow_pool = site;
  wait(turn, std::max(turn.begin_ns, row.span.end_ns), targets_.of_call(turn.row), cost_of(row), site);
}

void ProgramBuilder::issuing_call(const Turn& call, std::uint32_t first) {
  const Call& row = trace_.calls[call.row];
  const Operation& own = trace_.operations[first];
  const Nanoseconds end_ns = std::max(call.begin_ns, row.span.end_ns);
  Turn turn = call;
  turn.begin_ns = await_room(call, end_ns);
  const std::uint16_t site = is_copy(row.category) ? site_of_call(turn.thread, row) : sites_.of_all_at(row.stack);
  const std::uint16_t stream = edges_.stream_of({own.context, own.stream}, own.device);
  const Nanoseconds queue_ns = edges_.queue_end(stream);
  const std::uint32_t next = issued_.next(first);
  CopyEvent& event = emit<CopyEvent>(turn.thread, site);
  issue(first, turn.begin_ns, row.span.begin_ns, event);
  event.held = is_held(first, event, end_ns);
  event.pinned_length = link_.pinned_length(own);
  if (next == kNoRow) {
    const WaitTarget target = targets_.of_copy(turn.row, own, stream, queue_ns);
    event.wait_for = target.wait_for;
    const bool waits = target.wait_for != WaitFor::kNothing;
    const WaitWeights weights =
        waits ? weigh({turn.begin_ns, end_ns}, target, cost_of(row)) : WaitWeights{end_ns - turn.begin_ns};
    event.own = weights.own;
    event.ret = weights.ret;
    take_recorder_off(turn, true, event);
    return passed_late(turn.thread, end_ns, weights.late, &own);
  }
  // Several transfers: the call issues them all, then waits for the last.
  passed(turn.thread, turn.begin_ns, &own);
  more_work(turn.thread, next, row.span.begin_ns, site, end_ns);
  const bool waits = is_copy(row.category) && edges_.stream_end(stream) <= end_ns + kClockSkewNs;
  const WaitTarget last{waits ? WaitFor::kStream : WaitFor::kNothing, stream, kNoSlot, edges_.stream_end(stream)};
  wait(turn, end_ns, last, cost_of(row), site);
}

void ProgramBuilder::event_call(const Turn& turn) {
  const Call& row = trace_.calls[turn.row];
  advance(turn.thread, turn.begin_ns);
  const bool records = targets_.records(row);
  const Nanoseconds end_ns = std::max(turn.begin_ns, row.span.end_ns);
  if (!records && !targets_.knows_event(row.object)) return plain(turn, end_ns, 0);
  const auto context = trace_.contexts.find(row.context);
  const DeviceId device = context == trace_.contexts.end() ? DeviceId{} : context->second.device;
  const std::uint32_t slot = targets_.slot_of_event(row.object);
  const std::uint16_t stream = edges_.stream_of({row.context, row.stream}, device);
  std::uint16_t site = 0;
  if (records) {
    // An event whose stack was not taken is recorded where it was before.
    std::uint16_t& recorded_at = dependency_sites_[slot];
    if (number(row.stack) != 0 || recorded_at == 0) recorded_at = sites_.of_dependency(row.stack, row.api);
    edges_.record(slot, stream);
  } else {
    site = dependency_sites_[slot];
    edges_.wait_for(slot, stream);
  }
  MarkEvent& event = emit<MarkEvent>(turn.thread, site);
  event.records = records;
  event.own = end_ns - turn.begin_ns;
  take_recorder_off(turn, false, event);
  event.slot = slot;
  event.stream = stream;
  passed(turn.thread, end_ns);
}

// Work without a turn of its own call: by the time of the thread that issued it, or by the clock.
void ProgramBuilder::work(const Turn& turn) {
  constexpr Nanoseconds kFarNs = 1'000'000'000;
  const Operation& operation = trace_.operations[turn.row];
  std::uint32_t thread = std::min(turn.thread, nobody_);
  if (operation.span.begin_ns + kFarNs < threads_[thread].now_ns) thread = nobody_;
  advance(thread, turn.time_ns);
  if (threads_[thread].pre_ns > 0) {
    emit<HostEvent>(thread, 0);
    passed(thread, threads_[thread].now_ns);
  }
  issue_more(thread, turn.row, turn.time_ns, 0, kNeverNs);
}

ReplayProgram build_program(const Attribution& attribution, const PlaceOf& place_of,
                            std::vector<RecordedTimes>* recorded, std::string_view graph_range,
                            const WhatGoes& what_goes) {
  return ProgramBuilder(attribution, place_of, recorded, graph_range, what_goes).run();
}

}  // namespace synctrace
