// SPDX-License-Identifier: Apache-2.0
#include "attribution/classify.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "attribution/wait_table.h"

namespace synctrace {
namespace {

// A first launch this many times as long as others loads code.
constexpr Nanoseconds kFirstLaunchFactor = 10;
// How many samples to each side are looked at for a stack.
constexpr std::ptrdiff_t kMostSamplesAside = 64;

CauseKind kind_of(ApiCategory category, bool waited) noexcept {
  switch (category) {
    case ApiCategory::kStreamSync: return CauseKind::kStreamSync;
    case ApiCategory::kDeviceSync: return CauseKind::kDeviceSync;
    case ApiCategory::kEventSync: return CauseKind::kEventSync;
    case ApiCategory::kPoll: return CauseKind::kPolling;
    case ApiCategory::kCopy: return CauseKind::kBlockingCopy;
    case ApiCategory::kAlloc:
    case ApiCategory::kHostAlloc: return CauseKind::kAllocation;
    case ApiCategory::kFree:
    case ApiCategory::kHostFree: return CauseKind::kRelease;
    case ApiCategory::kGraph:
    case ApiCategory::kModule:
    case ApiCategory::kContext: return CauseKind::kModuleLoad;
    default: return waited ? CauseKind::kHiddenSync : CauseKind::kOtherCall;
  }
}

}  // namespace

HostPiece HostClassifier::piece_before(HostTimeline::Index thread, Nanoseconds t, Nanoseconds limit_ns,
                                       DeviceId device) const {
  const HostItem item = evidence_.host.item_before(thread, t);
  HostPiece piece;
  switch (item.owner.table) {
    case OwnerTable::kCall: piece = of_call(item.owner.row, t, device); break;
    case OwnerTable::kLaunch: piece = of_launch(item.owner.row); break;
    case OwnerTable::kHostWait: piece = of_sleep(item.owner.row, t, device); break;
    default: piece = of_open_time(thread, item, t, device); break;
  }
  // In a dense run, all that is not a wait is the price of launching.
  const bool in_run = !piece.asleep && item.owner.table != OwnerTable::kHostWait && evidence_.runs.covers(thread, t);
  if (in_run && (piece.kind == CauseKind::kHostCompute || piece.kind == CauseKind::kOtherCall)) {
    piece.kind = CauseKind::kLaunchBound;
    piece.confidence = Confidence::kHigh;
    const auto next = evidence_.host.item_from(thread, t);
    if (item.owner.table == OwnerTable::kNone && next) piece.owner = next->owner;
  }
  const bool is_open = item.owner.table == OwnerTable::kNone && !piece.asleep;
  if (is_open && (piece.kind == CauseKind::kHostCompute || piece.kind == CauseKind::kLaunchBound)) {
    const GraphBreaks::Answer broken = evidence_.breaks.at(thread, t);
    piece.begin_ns = std::max(piece.begin_ns, broken.begin_ns);
    if (broken.line) piece.kind = CauseKind::kGraphBreak;
    if (broken.line) piece.owner = *broken.line;
  }
  piece.begin_ns = std::clamp(std::max(piece.begin_ns, item.span.begin_ns), std::min(limit_ns, t - 1), t - 1);
  return piece;
}

DeviceId HostClassifier::device_of(const Call& call) const {
  const auto context = evidence_.trace.contexts.find(call.context);
  return context == evidence_.trace.contexts.end() ? DeviceId{} : context->second.device;
}

CauseKind HostClassifier::kind_of_wait(std::uint32_t row) const {
  const Call& call = evidence_.trace.calls[row];
  if (!is_copy(call.category)) return kind_of(call.category, true);
  const MemoryKind memory = host_memory(call.copy_kind, call.source_memory, call.target_memory);
  if (memory == MemoryKind::kPageable) return CauseKind::kPageableCopy;
  return call.category == ApiCategory::kCopy ? CauseKind::kBlockingCopy : CauseKind::kHiddenSync;
}

HostPiece HostClassifier::of_call(std::uint32_t row, Nanoseconds t, DeviceId device) const {
  const Call& call = evidence_.trace.calls[row];
  const Judgement& judgement = evidence_.judgements[row];
  if (is_copy(call.category)) return of_copy(row, t);
  HostPiece piece;
  piece.owner = {row, OwnerTable::kCall};
  piece.kind = judgement.creates_context ? CauseKind::kModuleLoad
                                         : kind_of(call.category, judgement.verdict == Verdict::kBlocked);
  if (is_slow_pool_call(call)) piece.kind = CauseKind::kAllocation;
  // While the work waited for still ran, on another device, this device waited for that.
  const bool elsewhere = judgement.verdict == Verdict::kBlocked && judgement.basis == Basis::kTimeline &&
                         evidence_.trace.contexts.contains(call.context) && device_of(call) != device;
  if (!elsewhere) return piece;
  const Nanoseconds done_ns = call.span.begin_ns + judgement.waited_ns;
  if (t > done_ns) {
    piece.begin_ns = done_ns;
  } else {
    piece.kind = CauseKind::kDeviceDependency;
  }
  return piece;
}

HostPiece HostClassifier::of_copy(std::uint32_t row, Nanoseconds t) const {
  const Call& call = evidence_.trace.calls[row];
  const Outstanding& out = evidence_.outstanding[row];
  const MemoryKind memory = host_memory(call.copy_kind, call.source_memory, call.target_memory);
  HostPiece piece;
  piece.owner = {row, OwnerTable::kCall};
  if (memory == MemoryKind::kPageable) {
    piece.kind = CauseKind::kPageableCopy;
    if (out.has_own && t > out.own.begin_ns) {
      piece.kind = CauseKind::kBlockingCopy;
      piece.begin_ns = out.own.begin_ns;
    }
  } else if (call.category == ApiCategory::kCopy) {
    piece.kind = CauseKind::kBlockingCopy;
  } else {
    const bool waited = evidence_.judgements[row].verdict == Verdict::kBlocked;
    piece.kind = waited ? CauseKind::kHiddenSync : CauseKind::kOtherCall;
  }
  return piece;
}

HostPiece HostClassifier::of_launch(std::uint32_t row) const {
  const Launch& launch = evidence_.trace.launches[row];
  HostPiece piece;
  piece.owner = {row, OwnerTable::kLaunch};
  piece.kind = CauseKind::kLaunchBound;
  if (launch.span.length_ns() / kFirstLaunchFactor <= evidence_.launch_p50_ns) return piece;
  const auto work = evidence_.correlation.first_work_of({true, row});
  if (work && evidence_.is_first_of_kernel(*work)) piece.kind = CauseKind::kModuleLoad;
  return piece;
}

// A wait in no CUDA call: while the work waited for still ran on another device, this device waited for that.
HostPiece HostClassifier::of_gpu_sleep(const GpuSleep& sleep, CauseKind kind, Owner owner, Nanoseconds t,
                                       DeviceId device) const {
  HostPiece piece;
  piece.owner = owner;
  piece.kind = kind;
  if (sleep.device == device) return piece;
  if (t > sleep.work_end_ns) {
    piece.begin_ns = sleep.work_end_ns;
  } else {
    piece.kind = CauseKind::kDeviceDependency;
  }
  return piece;
}

HostPiece HostClassifier::of_sleep(std::uint32_t row, Nanoseconds t, DeviceId device) const {
  const HostWait& wait = evidence_.trace.host_waits[row];
  HostPiece piece;
  piece.owner = {row, OwnerTable::kHostWait};
  const StackTraits traits = evidence_.stacks.traits(wait.stack);
  const GpuSleep& sleep = evidence_.sleeps.host_waits[row];
  if (sleep.waited)
    return of_gpu_sleep(sleep, CauseKind::kFrameworkWait, {sleep.owner, OwnerTable::kHostWait}, t, device);
  if (traits.loader) {
    piece.kind = CauseKind::kInput;
    return piece;
  }
  if (traits.compiler && !traits.gil) {  // other threads compile for it
    piece.kind = CauseKind::kCompile;
    return piece;
  }
  switch (wait.call) {
    case HostCall::kSleep: piece.kind = CauseKind::kSleep; return piece;
    case HostCall::kPoll:
    case HostCall::kEpoll:
    case HostCall::kSelect:
    case HostCall::kRead:
      piece.kind = CauseKind::kIo;  // it waits for something outside the process
      return piece;
    case HostCall::kMunmap: piece.kind = CauseKind::kHostCompute; return piece;
    case HostCall::kMutex: piece.kind = CauseKind::kLock; break;
    default: piece.kind = CauseKind::kPeerThread; break;
  }
  if (traits.gil) piece.kind = CauseKind::kGil;
  piece.asleep = true;
  return piece;
}

HostPiece HostClassifier::of_sample(std::uint32_t row) const {
  const Sample& sample = evidence_.trace.samples[row];
  const StackTraits traits = evidence_.stacks.traits(sample.stack);
  HostPiece piece;
  piece.owner = {row, OwnerTable::kSample};
  piece.kind = kind_of_sample(sample, traits);
  piece.confidence = evidence_.votes.confidence_of(sample, traits);
  piece.asleep = piece.kind == CauseKind::kPeerThread;
  return piece;
}

// A running thread's stack cannot always be read. Then the nearest one of the same time that could be read tells. So do
// the ones before and after, if both lie in a compiler: no program compiles for a moment only.
std::uint32_t HostClassifier::told_by(const std::vector<std::uint32_t>& samples,
                                      std::vector<std::uint32_t>::const_iterator at, TimeSpan open) const {
  const std::vector<Sample>& rows = evidence_.trace.samples;
  const auto is_told = [&](std::uint32_t row) { return number(rows[row].stack) != 0; };
  if (is_told(*at) || rows[*at].state != format::Sample::State::kRunning) return *at;
  const auto end = at + std::min(kMostSamplesAside, samples.end() - at);
  const auto later = std::find_if(at, end, is_told);
  const auto from = std::make_reverse_iterator(at);
  const auto rend = from + std::min(kMostSamplesAside, samples.rend() - from);
  const auto earlier = std::find_if(from, rend, is_told);
  const bool has_later = later != end && rows[*later].span.begin_ns < open.end_ns;
  const bool has_earlier = earlier != rend && rows[*earlier].span.end_ns > open.begin_ns;
  if (has_later && (!has_earlier || later - at <= earlier - from + 1)) return *later;
  if (has_earlier) return *earlier;
  const auto compiles = [&](std::uint32_t row) { return evidence_.stacks.traits(rows[row].stack).compiler; };
  return later != end && earlier != rend && compiles(*later) && compiles(*earlier) ? *later : *at;
}

// Between records: queries that spun, CUPTI's own overhead, then the nearest sample; else only the neighbours are
// known.
HostPiece HostClassifier::of_open_time(HostTimeline::Index thread, const HostItem& open, Nanoseconds t,
                                       DeviceId device) const {
  const Trace& trace = evidence_.trace;
  HostPiece piece;
  const auto cut_at = [&](const auto& table, const std::vector<std::uint32_t>& rows, OwnerTable name, CauseKind kind) {
    const auto after = std::lower_bound(rows.begin(), rows.end(), t, [&](std::uint32_t row, Nanoseconds value) {
      return table[row].span.begin_ns < value;
    });
    if (after == rows.begin()) return false;
    const TimeSpan span = table[*std::prev(after)].span;
    if (span.end_ns < t) {
      piece.begin_ns = std::max(piece.begin_ns, span.end_ns);
      return false;
    }
    piece = {span.begin_ns, kind, {*std::prev(after), name}};
    return true;
  };
  if (cut_at(trace.overheads, evidence_.host.overheads(thread), OwnerTable::kOverhead, CauseKind::kProfiler))
    return piece;
  const Nanoseconds cut_ns = piece.begin_ns;
  if (cut_at(trace.polls, evidence_.host.polls(thread), OwnerTable::kPoll, CauseKind::kPolling)) {
    const Poll& poll = trace.polls[piece.owner.row];
    if (!is_wait(poll)) piece.kind = CauseKind::kOtherCall;
    const GpuSleep& sleep = evidence_.sleeps.polls[piece.owner.row];
    const Nanoseconds begin_ns = std::max(piece.begin_ns, cut_ns);
    if (sleep.waited) piece = of_gpu_sleep(sleep, CauseKind::kPolling, piece.owner, t, device);
    piece.begin_ns = std::max(piece.begin_ns, begin_ns);
    return piece;
  }

  const std::vector<std::uint32_t>& samples = evidence_.host.samples(thread);
  const auto next = std::lower_bound(samples.begin(), samples.end(), t, [&](std::uint32_t row, Nanoseconds value) {
    return trace.samples[row].span.begin_ns < value;
  });
  const bool has_next = next != samples.end() && trace.samples[*next].span.begin_ns < open.span.end_ns;
  const bool has_last = next != samples.begin() && trace.samples[*std::prev(next)].span.end_ns > open.span.begin_ns;
  const auto middle = [&](auto earlier, auto later) {
    return (trace.samples[*earlier].span.end_ns + trace.samples[*later].span.begin_ns) / 2;
  };
  const Nanoseconds limit_ns = piece.begin_ns;
  if (has_next && (!has_last || t > middle(std::prev(next), next))) {
    piece = of_sample(told_by(samples, next, open.span));
    piece.begin_ns = std::max(limit_ns, has_last ? middle(std::prev(next), next) : 0);
    return piece;
  }
  if (has_last) {
    const auto last = std::prev(next);
    piece = of_sample(told_by(samples, last, open.span));
    const bool has_one_before =
        last != samples.begin() && trace.samples[*std::prev(last)].span.end_ns > open.span.begin_ns;
    piece.begin_ns = std::max(limit_ns, has_one_before ? std::min(t - 1, middle(std::prev(last), last)) : 0);
    return piece;
  }
  piece.confidence = open.first ? Confidence::kLow : Confidence::kMedium;
  piece.asleep = open.first;  // the thread may not have been there yet: somebody gave it its first work
  return piece;
}

}  // namespace synctrace
