// SPDX-License-Identifier: Apache-2.0
#include "whatif/wait_targets.h"

#include <algorithm>

#include "attribution/wait_table.h"
#include "model/tolerances.h"

namespace synctrace {
namespace {

DeviceId device_of(const Trace& trace, const Call& call) {
  const auto context = trace.contexts.find(call.context);
  return context == trace.contexts.end() ? DeviceId{} : context->second.device;
}

}  // namespace

WaitTargets::WaitTargets(const Evidence& evidence, WorkEdges& edges) : evidence_(evidence), edges_(edges) {
  find_full_queues();
  keep_ends();
  find_polled_streams();
}

// On an H200 the queue took 860 to 1,022 pieces of work (PyTorch 2.11, CUDA 13.0). Then a launch returned 7 to 30 us
// behind the end of a piece of work.
void WaitTargets::find_full_queues() {
  constexpr std::size_t kFullQueue = 400;
  constexpr Nanoseconds kLeastBlockedNs = 15'000;
  const Trace& trace = evidence_.trace;
  if (trace.operations.size() < kFullQueue) return;
  std::vector<Nanoseconds> issued;
  std::vector<Nanoseconds> ended;
  for (const std::uint32_t row : evidence_.correlation.by_issue()) {
    issued.push_back(evidence_.correlation.issued_ns(row));
    ended.push_back(trace.operations[row].span.end_ns);
  }
  std::sort(ended.begin(), ended.end());
  const Nanoseconds least_ns = std::max(kLeastBlockedNs, 2 * evidence_.launch_p50_ns);
  const auto look_at = [&](std::uint32_t row, TimeSpan span, std::unordered_map<std::uint32_t, Nanoseconds>& room) {
    if (span.length_ns() < least_ns) return;
    const auto before = std::lower_bound(issued.begin(), issued.end(), span.begin_ns) - issued.begin();
    const auto done = std::upper_bound(ended.begin(), ended.end(), span.begin_ns) - ended.begin();
    if (before - done < static_cast<std::ptrdiff_t>(kFullQueue)) return;
    const auto next = std::upper_bound(ended.begin(), ended.end(), span.end_ns);
    if (next - ended.begin() <= done) return;
    room.emplace(row, *std::prev(next));
    slots_by_end_.try_emplace(*std::prev(next), kNoSlot);
  };
  for (std::uint32_t row = 0; row < trace.launches.size(); ++row) look_at(row, trace.launches[row].span, launch_room_);
  for (std::uint32_t row = 0; row < trace.calls.size(); ++row) {
    const Call& call = trace.calls[row];
    const bool is_on_device = call.category == ApiCategory::kCopyAsync && call.copy_kind == CopyKind::kDeviceToDevice;
    if (call.category == ApiCategory::kMemset || is_on_device) look_at(row, call.span, call_room_);
  }
}

// A sleep names no stream: it waited for the work with whose end it ended.
void WaitTargets::keep_ends() {
  const std::vector<GpuSleep>& sleeps = evidence_.sleeps.host_waits;
  for (const GpuSleep& sleep : sleeps) {
    if (sleep.waited) slots_by_end_.try_emplace(sleep.work_end_ns, kNoSlot);
  }
  if (slots_by_end_.empty()) return;
  for (std::uint32_t row = 0; row < evidence_.trace.operations.size(); ++row) {
    const auto wanted = slots_by_end_.find(evidence_.trace.operations[row].span.end_ns);
    if (wanted == slots_by_end_.end() || wanted->second != kNoSlot) continue;
    wanted->second = edges_.new_slot();
    kept_.emplace(row, wanted->second);
  }
}

// Queries name a stream by its handle: that of the work with whose end they came to an end.
void WaitTargets::find_polled_streams() {
  std::unordered_map<Nanoseconds, std::uint64_t> wanted;
  for (std::size_t row = 0; row < evidence_.sleeps.polls.size(); ++row) {
    const GpuSleep& sleep = evidence_.sleeps.polls[row];
    if (sleep.waited) wanted.try_emplace(sleep.work_end_ns, evidence_.trace.polls[row].object);
  }
  if (wanted.empty()) return;
  for (const Operation& operation : evidence_.trace.operations) {
    const auto handle = wanted.find(operation.span.end_ns);
    if (handle == wanted.end()) continue;
    polled_.try_emplace(handle->second, Polled{{operation.context, operation.stream}, operation.device});
  }
}

std::uint32_t WaitTargets::kept_slot(std::uint32_t operation) const {
  if (kept_.empty()) return kNoSlot;
  const auto kept = kept_.find(operation);
  return kept == kept_.end() ? kNoSlot : kept->second;
}

bool WaitTargets::records(const Call& call) {
  const auto [entry, is_new] = records_.try_emplace(call.api, false);
  if (is_new) entry->second = api_name(evidence_.trace, call.api).find("EventRecord") != std::string::npos;
  return entry->second;
}

std::uint32_t WaitTargets::slot_of_event(std::uint64_t handle) {
  const auto [entry, is_new] = events_.try_emplace(handle, kNoSlot);
  if (is_new) entry->second = edges_.new_slot();
  return entry->second;
}

WaitTarget WaitTargets::stream_target(StreamKey key, Nanoseconds latest_ns) const {
  const std::uint32_t stream = edges_.find_stream(key);
  if (stream == kNoSlot || edges_.stream_end(stream) > latest_ns) return {};
  return {WaitFor::kStream, stream, kNoSlot, edges_.stream_end(stream)};
}

WaitTarget WaitTargets::device_target(const Call& call, Nanoseconds latest_ns) const {
  const std::uint32_t stream = edges_.any_stream(device_of(evidence_.trace, call));
  if (stream == kNoSlot || edges_.device_end(stream) > latest_ns) return {};
  return {WaitFor::kDevice, stream, kNoSlot, edges_.device_end(stream)};
}

// Work that a call returned with, although nothing says that it waits for it.
WaitTarget WaitTargets::hidden_target(std::uint32_t row) const {
  const Judgement& judgement = evidence_.judgements[row];
  if (judgement.verdict != Verdict::kBlocked || judgement.basis != Basis::kTimeline) return {};
  const Nanoseconds until_ns = evidence_.trace.calls[row].span.begin_ns + judgement.waited_ns;
  const std::uint32_t stream = edges_.stream_ending_at(until_ns);
  if (stream == kNoSlot) return {};
  return {WaitFor::kStream, stream, kNoSlot, until_ns};
}

WaitTarget WaitTargets::of_call(std::uint32_t row) const {
  const Call& call = evidence_.trace.calls[row];
  if (evidence_.judgements[row].creates_context) return {};
  const Nanoseconds latest_ns = call.span.end_ns + kClockSkewNs;
  WaitTarget target;
  switch (call.category) {
    case ApiCategory::kStreamSync:
      if (number(call.stream) != 0) target = stream_target({call.context, call.stream}, latest_ns);
      break;
    case ApiCategory::kDeviceSync:
    case ApiCategory::kFree:
    case ApiCategory::kHostFree: target = device_target(call, latest_ns); break;
    case ApiCategory::kEventSync: {
      const auto event = events_.find(call.object);
      if (event == events_.end() || edges_.slot(event->second) > latest_ns) break;
      target = {WaitFor::kSlot, kNoSlot, event->second, edges_.slot(event->second)};
      break;
    }
    default: break;
  }
  return target.wait_for == WaitFor::kNothing ? hidden_target(row) : target;
}

WaitTarget WaitTargets::of_copy(std::uint32_t row, const Operation& own, std::uint16_t stream,
                                Nanoseconds queue_ns) const {
  const Call& call = evidence_.trace.calls[row];
  const bool blocked = evidence_.judgements[row].verdict == Verdict::kBlocked;
  const WaitHabit habit = wait_habit(call);
  if (!is_copy(call.category) || (habit == WaitHabit::kNever && !blocked)) return {};
  const Nanoseconds latest_ns = call.span.end_ns + kClockSkewNs;
  if (own.span.end_ns <= latest_ns) return {WaitFor::kOwnEnd, stream, kNoSlot, own.span.end_ns};
  if (blocked && queue_ns <= latest_ns && queue_ns > call.span.begin_ns)
    return {WaitFor::kStream, stream, kNoSlot, queue_ns};
  if (own.span.begin_ns <= latest_ns) return {WaitFor::kOwnStart, stream, kNoSlot, own.span.begin_ns};
  return {};
}

WaitTarget WaitTargets::of_poll(std::uint32_t row) const {
  const Poll& poll = evidence_.trace.polls[row];
  const Nanoseconds latest_ns = poll.span.end_ns + kClockSkewNs;
  if (const auto event = events_.find(poll.object); event != events_.end()) {
    if (edges_.slot(event->second) > latest_ns) return {};
    return {WaitFor::kSlot, kNoSlot, event->second, edges_.slot(event->second)};
  }
  const auto polled = polled_.find(poll.object);
  return polled == polled_.end() ? WaitTarget{} : stream_target(polled->second.stream, latest_ns);
}

WaitTarget WaitTargets::of_sleep(std::uint32_t row) const {
  const GpuSleep& sleep = evidence_.sleeps.host_waits[row];
  return sleep.waited ? end_of_work(sleep.work_end_ns) : WaitTarget();
}

WaitTarget WaitTargets::of_full_queue(Correlation::Issuer issuer) const {
  const auto& rooms = issuer.is_launch ? launch_room_ : call_room_;
  if (rooms.empty()) return {};
  const auto room = rooms.find(issuer.row);
  return room == rooms.end() ? WaitTarget() : end_of_work(room->second);
}

WaitTarget WaitTargets::end_of_work(Nanoseconds end_ns) const {
  const auto slot = slots_by_end_.find(end_ns);
  if (slot == slots_by_end_.end() || slot->second == kNoSlot || edges_.slot(slot->second) == kNeverNs) return {};
  return {WaitFor::kSlot, kNoSlot, slot->second, edges_.slot(slot->second)};
}

}  // namespace synctrace
