// SPDX-License-Identifier: Apache-2.0
#include "attribution/attribute.h"
#include "attribution/waker.h"
#include "base/shares.h"
#include "model/tolerances.h"
#include "whatif/program_builder.h"

namespace synctrace {

// A thread of which nothing was seen for long, and then work at once where another one stopped, was waiting for that
// one. Only for recordings that have neither waits nor samples of it to tell.
void ProgramBuilder::wake_by_guess(std::uint32_t thread, Nanoseconds until_ns) {
  constexpr Nanoseconds kLongSilenceNs = 200'000;
  Thread& state = threads_[thread];
  if (until_ns - state.now_ns < kLongSilenceNs || !trace_.host_waits.empty() || !evidence_.host.samples(thread).empty())
    return;
  const auto guess = guess_waker(evidence_, thread, until_ns);
  if (!guess || guess->time_ns <= state.now_ns || guess->time_ns > until_ns) return;
  const std::uint32_t slot = post_before(guess->thread, guess->time_ns);
  BlockEvent& block = emit<BlockEvent>(thread, 0);
  block.slot = slot;
  block.ret = until_ns - guess->time_ns;
  free_slots_.push_back(slot);
  passed(thread, until_ns);
}

// A slot that becomes the time of a thread at that moment. The thread's own time stays at its last event.
std::uint32_t ProgramBuilder::post_before(std::uint32_t thread, Nanoseconds time_ns) {
  const Thread& state = threads_[thread];
  const std::uint32_t slot = new_post();
  PostEvent& event = program_.events.add<PostEvent>(thread, 0);
  event.slot = slot;
  event.pre = state.pre_ns + time_ns - state.now_ns;
  if (recorded_ != nullptr) recorded_->push_back({state.now_ns - state.pre_ns, kNeverNs, kNeverNs});
  return slot;
}

std::uint32_t ProgramBuilder::new_post() {
  if (free_slots_.empty()) return edges_.new_slot();
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void ProgramBuilder::plain(const Turn& turn, Nanoseconds end_ns, std::uint16_t site) {
  CallEvent& event = emit<CallEvent>(turn.thread, site);
  event.own = end_ns - turn.begin_ns;
  if (turn.kind != TurnKind::kSleepEnd) take_recorder_off(turn, false, event);
  passed(turn.thread, end_ns);
}

// A wait takes as long as such calls do that find nothing to wait for, or returns so long after the end of the work,
// whichever is later.
ProgramBuilder::WaitWeights ProgramBuilder::weigh(TimeSpan span, const WaitTarget& target, Cost cost) {
  const Nanoseconds after_ns = span.end_ns - target.until_ns;
  const Nanoseconds usual_ns = evidence_.calibration.return_latency.p50_ns;
  if (target.until_ns > span.begin_ns) {
    edges_.count_edge(after_ns);
    const Nanoseconds own_ns = std::min(cost.usual_ns, std::clamp<Nanoseconds>(after_ns, 0, span.length_ns()));
    const Nanoseconds works_ns = std::max(own_ns, usual_ns + (cost.works_after ? cost.usual_ns : 0));
    const Nanoseconds in_time_ns = works_ns + cost.moves_ns + kResidualNs;
    return {own_ns, std::min(after_ns, in_time_ns), std::max<Nanoseconds>(0, after_ns - in_time_ns)};
  }
  const Nanoseconds own_ns = span.length_ns();
  return {own_ns, std::min(usual_ns + (cost.works_after ? own_ns : 0), after_ns)};
}

void ProgramBuilder::wait(const Turn& turn, Nanoseconds end_ns, const WaitTarget& target, Cost cost,
                          std::uint16_t site) {
  if (target.wait_for == WaitFor::kNothing || target.until_ns == kNeverNs) return plain(turn, end_ns, site);
  if (in_graph(turn.thread, turn.begin_ns + 1)) ++program_.waits_in_graph;
  WaitEvent& event = emit<WaitEvent>(turn.thread, site);
  if (target.stream != kNoSlot) event.stream = static_cast<std::uint16_t>(target.stream);
  event.slot = target.slot;
  event.wait_for = target.wait_for;
  const WaitWeights weights = weigh({turn.begin_ns, end_ns}, target, cost);
  event.own = weights.own;
  event.ret = weights.ret;
  if (turn.kind == TurnKind::kCall) take_recorder_off(turn, false, event);
  const std::uint16_t pool = std::exchange(threads_[turn.thread].slow_pool, std::uint16_t{0});
  if (pool == 0 || weights.late == 0) return passed_late(turn.thread, end_ns, weights.late);
  // What is late there is the pool, which gives its memory back.
  passed(turn.thread, end_ns - weights.late);
  CallEvent& gives_back = emit<CallEvent>(turn.thread, pool);
  gives_back.own = weights.late;
  passed(turn.thread, end_ns);
}

void ProgramBuilder::poll(const Turn& turn) {
  const Poll& row = trace_.polls[turn.row];
  advance(turn.thread, turn.begin_ns);
  const WaitTarget target = targets_.of_poll(turn.row);
  constexpr Nanoseconds kQueryNs = 2'000;
  const Nanoseconds end_ns = std::max(turn.begin_ns, row.span.end_ns);
  if (target.wait_for == WaitFor::kNothing) return plain(turn, end_ns, 0);
  wait(turn, end_ns, target, {kQueryNs, false, 0}, sites_.of_wait(row.stack, number(row.api), 0));
}

void ProgramBuilder::post(const Turn& turn) {
  if (turn.time_ns > threads_[turn.thread].now_ns) advance(turn.thread, turn.time_ns);
  posts_[turn.row] = post_before(turn.thread, turn.time_ns);
}

void ProgramBuilder::sleep(const Turn& turn) {
  const HostWait& row = trace_.host_waits[turn.row];
  advance(turn.thread, turn.begin_ns);
  const Nanoseconds end_ns = std::max(turn.begin_ns, row.span.end_ns);
  const WaitTarget target = targets_.of_sleep(turn.row);
  if (target.wait_for != WaitFor::kNothing && target.until_ns <= end_ns) {
    constexpr Nanoseconds kHandsOnNs = 1'000'000;  // the thread that sees the work end wakes this one
    return wait(turn, end_ns, target, {0, false, kHandsOnNs},
                sites_.of_wait(row.stack, static_cast<std::uint32_t>(number(row.call)), FixSites::kSleeps));
  }
  const StackTraits traits = evidence_.stacks.traits(row.stack);
  const bool loads = traits.loader && !traits.gil;
  // A graph needs no other thread to launch its work.
  const bool in_range = in_graph(turn.thread, row.span.begin_ns + 1) && in_graph(turn.thread, end_ns);
  const std::uint16_t helped = in_range ? program_.graph_site : std::uint16_t{0};
  const bool compiles = traits.compiler && !traits.gil;
  const std::uint16_t site = loads      ? sites_.of_cause(CauseKind::kInput, row.stack, {})
                             : compiles ? sites_.of_cause(CauseKind::kCompile, row.stack, {})
                                        : helped;
  if (const auto post = posts_.find(turn.row); post != posts_.end()) {
    const std::uint32_t slot = post->second;
    free_slots_.push_back(slot);
    posts_.erase(post);
    // Who held the interpreter's lock is chance: this thread needs nothing that the other one did.
    if (traits.gil) return plain(turn, end_ns, 0);
    // A loader's thread that passes batches on waits for the next one all the time, whether or not its makers rest.
    if (!loads || !threads_[waker_of(evidence_, row)].passes_on) return block(turn, end_ns, slot, site);
  }
  return loads ? await_batch(turn, end_ns, site) : plain(turn, end_ns, compiles ? site : std::uint16_t{0});
}

void ProgramBuilder::block(const Turn& turn, Nanoseconds end_ns, std::uint32_t slot, std::uint16_t site) {
  threads_[turn.thread].passes_on = false;
  BlockEvent& event = emit<BlockEvent>(turn.thread, site);
  event.slot = slot;
  event.ret = end_ns - std::min(trace_.host_waits[turn.row].wake_ns, end_ns);
  passed(turn.thread, end_ns);
}

void ProgramBuilder::await_batch(const Turn& turn, Nanoseconds end_ns, std::uint16_t site) {
  threads_[turn.thread].passes_on = true;
  Loader& loader = loaders_[site];
  if (loader.slot == kNoSlot) loader.slot = edges_.new_slot();
  InputEvent& event = emit<InputEvent>(turn.thread, site);
  event.own = end_ns - turn.begin_ns;
  // Batches that are there when asked for leave no record. Between two that were not, the loader may have rested, but
  // not where the second comes in the next step, or much of the time between went by waiting.
  constexpr Share kLimiting = percent(10);
  const bool next_step = !attribution_.steps.steps.empty() && program_.steps - loader.last_step <= 1;
  const Nanoseconds since_ns = program_.steps == loader.last_step ? loader.made_ns : loader.last_ns;
  const bool much = since_ns != kNeverNs && event.own >= kLimiting.of(end_ns - since_ns);
  const bool was_at_work = loader.made_ns != kNeverNs && (much || next_step);
  loader.last_step = program_.steps;
  loader.last_ns = end_ns;
  // Bytes that are on their way come when they are read: reading them says nothing of when the loader was done. One
  // that was at work goes on meanwhile, and its next batch comes no earlier because this one is read earlier.
  const bool receives = trace_.host_waits[turn.row].call == HostCall::kRead && !much;
  if (!receives || !was_at_work) {
    event.slot = loader.slot;
    event.keeps_pace = !receives && was_at_work;
    event.ret = loader.made_ns == kNeverNs ? 0 : end_ns - loader.made_ns;
    loader.made_ns = end_ns;
  }
  passed(turn.thread, end_ns);
}

}  // namespace synctrace
