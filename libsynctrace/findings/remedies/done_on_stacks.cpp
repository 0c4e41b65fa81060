// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/done_on_stacks.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "attribution/wait_table.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostStacksOfRun = 16'384;

bool has_part(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_of_engine(const ResolvedFrame& frame) {
  return frame.kind != FrameKind::kPython && has_part(frame.function, "Engine::thread_");
}

bool calls_backward(const ResolvedFrame& frame) {
  return frame.kind == FrameKind::kPython && has_part(frame.file, "/torch/autograd/") &&
         !frame.file.ends_with("/function.py");
}

bool is_within(Nanoseconds t, const std::vector<TimeSpan>& spans) {
  const auto after = std::upper_bound(spans.begin(), spans.end(), t,
                                      [](Nanoseconds value, TimeSpan span) { return value < span.begin_ns; });
  return after != spans.begin() && std::prev(after)->end_ns > t;
}

// A thread's samples, from the first to the last.
struct SampledTime {
  std::uint64_t count = 0;
  TimeSpan span{kLatestTime, 0};

  void add(const Sample& sample) {
    count += sample.count;
    span.begin_ns = std::min(span.begin_ns, sample.span.begin_ns);
    span.end_ns = std::max(span.end_ns, sample.span.end_ns);
  }
  Nanoseconds each_ns() const {
    constexpr std::uint64_t kFewestOfThread = 20;
    return count < kFewestOfThread ? 0 : span.length_ns() / static_cast<Nanoseconds>(count);
  }
};

}  // namespace

DoneInRun done_in_run(const Trace& trace, const Correlation& correlation, const UsualLaunches& usual,
                      StackPlaces& places) {
  DoneInRun run;
  if (trace.stacks.size() > kMostStacksOfRun) return run;
  std::map<StackId, DoneOnStack> done;
  std::map<ThreadId, std::uint64_t> launches;
  std::map<ThreadId, std::set<StackId>> stacks;
  std::map<ThreadId, std::vector<TimeSpan>> calls;
  for (const Call& call : trace.calls) {
    calls[call.thread].push_back(call.span);
    if (number(call.stack) == 0 || !is_copy(call.category)) continue;
    stacks[call.thread].insert(call.stack);
    if (goes_to_host(call.copy_kind)) ++done[call.stack].reads;
    if (!comes_from_host(call.copy_kind)) continue;
    DoneOnStack& there = done[call.stack];
    ++there.uploads;
    there.uploading_ns = add_saturated(there.uploading_ns, call.span.length_ns());
  }
  for (std::uint32_t row = 0; row < trace.launches.size(); ++row) {
    const Launch& launch = trace.launches[row];
    const StackId stack = trace.launches[usual.row_for(row)].stack;
    ++launches[launch.thread];
    ++run.launches;
    if (number(stack) == 0) continue;
    stacks[launch.thread].insert(stack);
    DoneOnStack& there = done[stack];
    ++there.launches;
    if (const auto work = correlation.first_work_of({true, row})) ++there.kernels[trace.operations[*work].name];
  }
  for (auto& [thread, spans] : calls) {
    std::sort(spans.begin(), spans.end(), [](TimeSpan a, TimeSpan b) { return a.begin_ns < b.begin_ns; });
  }
  std::map<ThreadId, SampledTime> sampled;
  for (const Sample& sample : trace.samples) {
    sampled[sample.thread].add(sample);
    if (number(sample.stack) == 0 || is_within(sample.span.begin_ns, calls[sample.thread])) continue;
    done[sample.stack].samples += sample.count;
    if (!trace.launches.empty() && sample.span.begin_ns >= trace.launches.front().span.begin_ns)
      run.samples += sample.count;
  }
  for (const auto& [thread, time] : sampled) run.a_sample_ns = std::max(run.a_sample_ns, time.each_ns());
  std::set<StackId> of_engine;
  for (auto& [stack, there] : done) {
    there.frames = resolve_stack(trace, stack);
    if (std::any_of(there.frames.begin(), there.frames.end(), is_of_engine)) of_engine.insert(stack);
  }
  // A launch's stack may end in Python; another one of its thread tells that it is the engine's.
  std::set<StackId> of_its_threads;
  for (const auto& [thread, of_thread] : stacks) {
    const bool is_engines =
        std::any_of(of_thread.begin(), of_thread.end(), [&](StackId stack) { return of_engine.contains(stack); });
    if (!is_engines) continue;
    of_its_threads.insert(of_thread.begin(), of_thread.end());
    run.in_backward += launches[thread];
  }
  for (auto& [stack, there] : done) {
    there.place = places.place_of(stack);
    there.is_backward =
        of_its_threads.contains(stack) || std::any_of(there.frames.begin(), there.frames.end(), calls_backward);
    run.stacks.push_back(std::move(there));
  }
  return run;
}

StackFrames::const_iterator users_frame(StackFrames::const_iterator from, const StackFrames& frames,
                                        const StackPlaces& places) {
  return std::find_if(from, frames.end(), [&](const ResolvedFrame& frame) {
    return frame.kind == FrameKind::kPython && places.user_code().owner_of(frame) == CodeOwner::kUser;
  });
}

}  // namespace synctrace
