// SPDX-License-Identifier: Apache-2.0
#include "exchange/trace_draft.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "contract/recording_limits.h"
#include "exchange/call_category.h"
#include "exchange/concurrent_streams.h"

namespace synctrace {
namespace {

constexpr Nanoseconds kSecondNs = 1'000'000'000;
constexpr Nanoseconds kLongestBefore = 24 * 3600 * kSecondNs;  // recorded before the middle of the work
constexpr std::uint32_t kOwnCallbackIds = 0x80'0000;           // CUPTI's are far below

// CUPTI's number of the legacy default stream in the ordinary case of one context for each device.
constexpr StreamId kUsualDefaultStream{7};

bool is_possible(TimeSpan span) noexcept {
  return 0 <= span.begin_ns && span.begin_ns <= span.end_ns && span.end_ns <= kLatestTime;
}

// What `inner` is known to have done becomes what the call around it did.
void take_work(const Call& inner, Call& around) noexcept {
  around.correlation = inner.correlation;
  around.context = inner.context;
  around.stream = inner.stream;
  around.bytes = inner.bytes;
  around.copy_kind = inner.copy_kind;
  around.source_memory = inner.source_memory;
  around.target_memory = inner.target_memory;
  if (around.category != ApiCategory::kOther) return;
  around.api = inner.api;
  around.category = inner.category;
}

TimeSpan moved(TimeSpan span, Nanoseconds by_ns) noexcept { return {span.begin_ns + by_ns, span.end_ns + by_ns}; }

}  // namespace

StringId TraceDraft::text(std::string_view text) {
  const auto [entry, is_new] = texts_.try_emplace(std::string(text), static_cast<StringId>(texts_.size() + 1));
  if (is_new) trace_.strings.emplace(entry->second, entry->first);
  return entry->second;
}

ApiId TraceDraft::api(format::ApiDomain domain, std::uint32_t callback_id, std::string_view name) {
  const std::string_view plain = plain_call_name(name);
  const auto known = apis_.find(std::pair(domain, std::string(plain)));
  if (known != apis_.end()) return known->second;
  ApiId id = format::make_api_id(domain, callback_id);
  if (callback_id == 0 || callback_id >= kOwnCallbackIds || trace_.apis.contains(id)) {
    id = format::make_api_id(domain, kOwnCallbackIds + static_cast<std::uint32_t>(apis_.size()));
  }
  apis_.emplace(std::pair(domain, std::string(plain)), id);
  trace_.apis.emplace(id, Api{call_category(plain), std::string(plain)});
  return id;
}

void TraceDraft::add_operation(const Operation& operation) { trace_.operations.push_back(operation); }

void TraceDraft::add_range(ThreadId thread, TimeSpan span, StringId text, NvtxDomainId domain, bool pushed) {
  ranges_.push_back({span, thread, domain, text, pushed});
}

void TraceDraft::add_mark(ThreadId thread, Nanoseconds time_ns, StringId text, NvtxDomainId domain) {
  trace_.nvtx_events.push_back({time_ns, thread, domain, text, 0, NvtxEvent::What::kMark});
}

// The trace's clock shows one second at the first row, unless it is known what it showed. A row long before the middle
// of the GPU's work is an error, and must not push all others out of what a clock can show.
Nanoseconds TraceDraft::find_shift(const Known& known) const {
  if (known.monotonic_ns && *known.monotonic_ns > -kFarthestTime && *known.monotonic_ns < kFarthestTime)
    return *known.monotonic_ns;
  std::vector<Nanoseconds> begins;
  for (const Operation& operation : trace_.operations) begins.push_back(operation.span.begin_ns);
  if (begins.empty()) {
    for (const Call& call : calls_) begins.push_back(call.span.begin_ns);
  }
  if (begins.empty()) return 0;
  const auto middle = begins.begin() + static_cast<std::ptrdiff_t>(begins.size() / 2);
  std::nth_element(begins.begin(), middle, begins.end());
  const Nanoseconds earliest_ns = *middle - kLongestBefore;
  Nanoseconds first_ns = *middle;
  const auto look = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (row.span.begin_ns >= earliest_ns) first_ns = std::min(first_ns, row.span.begin_ns);
    }
  };
  look(calls_);
  look(ranges_);
  look(trace_.operations);
  return kSecondNs - first_ns;
}

void TraceDraft::move_in_time(Nanoseconds shift_ns) {
  const auto move = [&](auto& rows) {
    for (auto& row : rows) row.span = moved(row.span, shift_ns);
    lose(kLossImpossibleTimes, std::erase_if(rows, [](const auto& row) { return !is_possible(row.span); }));
  };
  move(calls_);
  move(ranges_);
  move(trace_.operations);
  move(trace_.overheads);
  for (HostWait& wait : trace_.host_waits) wait.wake_ns = 0;
  move(trace_.host_waits);
  for (NvtxEvent& mark : trace_.nvtx_events) mark.time_ns += shift_ns;
  lose(kLossImpossibleTimes, std::erase_if(trace_.nvtx_events, [](const NvtxEvent& mark) {
         return !is_possible({mark.time_ns, mark.time_ns});
       }));
  const auto by_begin = [](const auto& a, const auto& b) { return a.span.begin_ns < b.span.begin_ns; };
  std::stable_sort(trace_.operations.begin(), trace_.operations.end(), by_begin);
  std::stable_sort(trace_.overheads.begin(), trace_.overheads.end(), by_begin);
  std::stable_sort(trace_.host_waits.begin(), trace_.host_waits.end(), by_begin);
}

// When each piece of work was issued: the begin of its call where that is in the file, else its own begin.
std::vector<Nanoseconds> TraceDraft::issue_times() const {
  std::unordered_map<CorrelationId, Nanoseconds> begins;
  for (const Call& call : calls_) begins.try_emplace(call.correlation, call.span.begin_ns);
  std::vector<Nanoseconds> times;
  times.reserve(trace_.operations.size());
  for (const Operation& operation : trace_.operations) {
    const auto call = number(operation.correlation) == 0 ? begins.end() : begins.find(operation.correlation);
    times.push_back(call == begins.end() ? operation.span.begin_ns : call->second);
  }
  return times;
}

// Contexts, streams and devices are those that work was seen in.
void TraceDraft::find_places() {
  std::vector<StreamKey> unknown;
  for (std::size_t row = 0; row < trace_.operations.size(); ++row) {
    const Operation& operation = trace_.operations[row];
    if (number(operation.correlation) != 0)
      first_work_.try_emplace(operation.correlation, static_cast<std::uint32_t>(row));
    trace_.devices.try_emplace(operation.device);
    trace_.contexts.try_emplace(operation.context, Context{operation.device, kUsualDefaultStream});
    const std::uint32_t flags = operation.stream == kUsualDefaultStream ? format::Stream::kDefault : 0;
    const StreamKey key{operation.context, operation.stream};
    if (trace_.streams.try_emplace(key, Stream{flags, 0}).second) unknown.push_back(key);
  }
  mark_concurrent_streams(trace_, unknown, issue_times());
}

// What a call did is known of its work. One that waits for a stream tells none: where only one is in use, that is it.
void TraceDraft::describe_calls() {
  const bool one_context = trace_.contexts.size() == 1;
  const bool one_stream = trace_.streams.size() == 1;
  for (Call& call : calls_) {
    const auto api = trace_.apis.find(call.api);
    if (api != trace_.apis.end()) call.category = api->second.category;
    if (number(call.context) == 0 && one_context) call.context = trace_.contexts.begin()->first;
    if (const auto target = targets_.find(call.correlation);
        target != targets_.end() && number(call.correlation) != 0) {
      call.context = target->second.stream.context;
      call.stream = target->second.stream.stream;
      call.object = target->second.event;
    } else if (call.category == ApiCategory::kStreamSync && one_stream) {
      call.stream = trace_.streams.begin()->first.stream;
    }
    const auto work = first_work_.find(call.correlation);
    if (work == first_work_.end()) continue;
    const Operation& operation = trace_.operations[work->second];
    call.context = operation.context;
    call.stream = operation.stream;
    call.bytes = operation.bytes;
    call.copy_kind = operation.copy_kind;
    call.source_memory = operation.source_memory;
    call.target_memory = operation.target_memory;
  }
}

// Ours are from the outermost entry to the outermost exit; of a call inside another one its work stays.
void TraceDraft::drop_inner_calls() {
  std::stable_sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) {
    return std::tuple(a.thread, a.span.begin_ns, -a.span.end_ns) <
           std::tuple(b.thread, b.span.begin_ns, -b.span.end_ns);
  });
  std::vector<Call> outer;
  for (const Call& call : calls_) {
    const bool is_inside = !outer.empty() && outer.back().thread == call.thread &&
                           call.span.end_ns <= outer.back().span.end_ns &&
                           call.span.begin_ns < outer.back().span.end_ns;
    if (!is_inside) {
      outer.push_back(call);
      continue;
    }
    Call& around = outer.back();
    if (first_work_.contains(call.correlation) && !first_work_.contains(around.correlation)) take_work(call, around);
  }
  calls_ = std::move(outer);
}

// Queries of one thread that follow each other closely are one row. Where nothing says what they answered: whoever asks
// again had not got the answer that they wanted.
void TraceDraft::add_query(const Call& call, bool has_answers) {
  constexpr std::uint32_t kNotReady = 600;  // cudaErrorNotReady and CUDA_ERROR_NOT_READY
  const std::uint64_t not_ready = has_answers && call.status == kNotReady ? 1 : 0;
  Poll* last = trace_.polls.empty() ? nullptr : &trace_.polls.back();
  if (last != nullptr && last->thread == call.thread && last->api == call.api && last->stack == call.stack &&
      call.span.begin_ns - last->span.end_ns < format::kPollGapNs) {
    last->span.end_ns = std::max(last->span.end_ns, call.span.end_ns);
    ++last->count;
    last->not_ready_count += has_answers ? not_ready : 1;
    return;
  }
  trace_.polls.push_back({call.span, call.thread, call.api, call.object, 1, not_ready, call.stack});
}

void TraceDraft::sort_out_calls(bool has_answers) {
  for (const Call& call : calls_) {
    switch (call.category) {
      case ApiCategory::kPoll: add_query(call, has_answers); break;
      case ApiCategory::kLaunch:
      case ApiCategory::kGraphLaunch:
      case ApiCategory::kHostFunction:
        trace_.launches.push_back({call.span, call.thread, call.api, call.correlation, call.stack});
        if (call.status != 0)
          trace_.launch_failures.push_back({call.span.begin_ns, call.thread, call.correlation, call.status});
        break;
      default: trace_.calls.push_back(call);
    }
  }
  calls_.clear();
  const auto by_begin = [](const auto& a, const auto& b) { return a.span.begin_ns < b.span.begin_ns; };
  std::stable_sort(trace_.calls.begin(), trace_.calls.end(), by_begin);
  std::stable_sort(trace_.launches.begin(), trace_.launches.end(), by_begin);
  std::stable_sort(trace_.polls.begin(), trace_.polls.end(), by_begin);
  sort_failures(trace_);
}

void TraceDraft::find_stacks() {
  std::vector<DraftStacks::Question> questions;
  for (Call& call : calls_) questions.push_back({call.thread, call.span.begin_ns, &call.stack});
  for (HostWait& wait : trace_.host_waits) questions.push_back({wait.thread, wait.span.begin_ns, &wait.stack});
  stacks_.answer(std::move(questions));
}

// Each thread and domain gets its pushes and pops in the right order where ranges touch. A range that does not nest is
// started and ended.
void TraceDraft::write_ranges() {
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
    return std::tuple(a.thread, a.domain, a.span.begin_ns, -a.span.end_ns) <
           std::tuple(b.thread, b.domain, b.span.begin_ns, -b.span.end_ns);
  });
  using What = NvtxEvent::What;
  std::vector<const Range*> open;
  std::uint64_t free_ranges = 0;
  const auto add = [&](const Range& range, Nanoseconds t, What what, std::uint64_t id = 0) {
    trace_.nvtx_events.push_back({t, range.thread, range.domain, range.text, id, what});
  };
  const auto close = [&](const Range* until) {
    while (!open.empty()) {
      const Range* inner = open.back();
      const bool same = until != nullptr && inner->thread == until->thread && inner->domain == until->domain;
      if (same && inner->span.end_ns > until->span.begin_ns) return;
      add(*inner, inner->span.end_ns, What::kPop);
      open.pop_back();
    }
  };
  for (const Range& range : ranges_) {
    close(&range);
    if (range.pushed && (open.empty() || open.back()->span.end_ns >= range.span.end_ns)) {
      add(range, range.span.begin_ns, What::kPush);
      open.push_back(&range);
    } else {
      add(range, range.span.begin_ns, What::kStart, ++free_ranges);
      add(range, range.span.end_ns, What::kEnd, free_ranges);
    }
  }
  close(nullptr);
  std::stable_sort(trace_.nvtx_events.begin(), trace_.nvtx_events.end(),
                   [](const NvtxEvent& a, const NvtxEvent& b) { return a.time_ns < b.time_ns; });
}

void TraceDraft::set_clock(const Known& known, Nanoseconds shift_ns) {
  trace_.first_ns = kLatestTime;
  const auto cover = [&](TimeSpan span) {
    trace_.first_ns = std::min(trace_.first_ns, span.begin_ns);
    trace_.last_ns = std::max(trace_.last_ns, span.end_ns);
  };
  for (const Call& call : calls_) cover(call.span);
  for (const Range& range : ranges_) cover(range.span);
  for (const Operation& operation : trace_.operations) cover(operation.span);
  trace_.first_ns = std::min(trace_.first_ns, trace_.last_ns);
  // Work before the first row may have been left out: this is no recording from its program's start.
  if (!trace_.operations.empty()) trace_.windows = {{{trace_.first_ns, trace_.last_ns}, "import"}};
  constexpr Nanoseconds kLatestWallNs = std::numeric_limits<Nanoseconds>::max() / 2;
  const Nanoseconds wall_ns = known.realtime_ns.value_or(0);
  const bool possible = known.realtime_ns && wall_ns > -kFarthestTime && wall_ns < kLatestWallNs - kFarthestTime;
  if (!possible) return;
  const Nanoseconds start_ns = trace_.first_ns - shift_ns + wall_ns;
  if (start_ns < 0) return;
  trace_.start_realtime_ns = static_cast<std::uint64_t>(start_ns);
  trace_.clocks.push_back({trace_.first_ns, start_ns});
}

Trace TraceDraft::finish(const Known& known) {
  const Nanoseconds shift_ns = find_shift(known);
  move_in_time(shift_ns);
  set_clock(known, shift_ns);
  find_places();
  describe_calls();
  drop_inner_calls();
  if (!known.has_stacks) {
    stacks_.move_in_time(shift_ns);
    find_stacks();
  }
  stacks_.define(trace_);
  sort_out_calls(known.has_answers);
  write_ranges();
  trace_.end_reason = "exit";
  return std::exchange(trace_, {});
}

}  // namespace synctrace
