// SPDX-License-Identifier: Apache-2.0
// A few launches, calls, sleeps and samples of a program, laid out by hand in microseconds, and their explanation.
#pragma once

#include <vector>

#include "attribution/attribute.h"
#include "support/catch.h"

namespace synctrace::testing {

inline constexpr Nanoseconds kUs = 1'000;
inline constexpr ThreadId kMain{100};
inline constexpr ThreadId kEngine{101};
inline constexpr ApiId kLaunch{1};
inline constexpr ApiId kHostFunction{2};
inline constexpr ApiId kCall{3};

class Scene {
 public:
  Scene() {
    trace_.contexts[ContextId{1}] = {DeviceId{0}, StreamId{7}};
    trace_.apis[kLaunch] = {ApiCategory::kLaunch, "cudaLaunchKernel"};
    trace_.apis[kHostFunction] = {ApiCategory::kHostFunction, "cudaLaunchHostFunc"};
    trace_.codes[1] = Code{"/home/user/train.py", "main", "", 10, 0x030c0000};
    trace_.stacks[StackId{5}] = {frame(1)};
    trace_.codes[2] =
        Code{"/usr/lib/python3/site-packages/torch/utils/data/dataloader.py", "__next__", "", 10, 0x030c0000};
    trace_.stacks[StackId{6}] = {frame(2)};
    trace_.codes[3] = Code{"/home/user/train.py", "prepare", "", 50, 0x030c0000};
    trace_.stacks[StackId{7}] = {frame(3), frame(1)};
  }

  void launch_at_line(Nanoseconds begin_us, TimeSpan kernel_us) {
    launch(begin_us, kernel_us);
    trace_.launches.back().stack = StackId{5};
  }

  void launch(Nanoseconds begin_us, TimeSpan kernel_us, ThreadId thread = kMain) {
    trace_.launches.push_back(launch_row(begin_us, kLaunch, thread));
    trace_.launches.back().correlation = CorrelationId{next_};
    Operation kernel;
    kernel.span = {kernel_us.begin_ns * kUs, kernel_us.end_ns * kUs};
    kernel.context = ContextId{1};
    kernel.stream = StreamId{7};
    kernel.correlation = CorrelationId{next_++};
    trace_.operations.push_back(kernel);
  }

  void host_function(Nanoseconds begin_us, ThreadId thread = kMain) {
    trace_.launches.push_back(launch_row(begin_us, kHostFunction, thread));
  }

  // A call without a stack that puts work of its own onto the stream.
  void call(Nanoseconds begin_us, ApiCategory category, CopyKind copy_kind, TimeSpan work_us) {
    Call call;
    call.span = {begin_us * kUs, (begin_us + 4) * kUs};
    call.thread = kMain;
    call.api = kCall;
    call.category = category;
    call.copy_kind = copy_kind;
    call.correlation = CorrelationId{next_};
    trace_.calls.push_back(call);
    Operation work;
    work.kind = category == ApiCategory::kMemset ? OperationKind::kMemset : OperationKind::kCopy;
    work.copy_kind = copy_kind;
    work.span = {work_us.begin_ns * kUs, work_us.end_ns * kUs};
    work.context = ContextId{1};
    work.stream = StreamId{7};
    work.correlation = CorrelationId{next_++};
    trace_.operations.push_back(work);
  }

  // A sleep of another thread, without a stack unless one is given.
  void sleep(ThreadId thread, TimeSpan span_us, ThreadId waker, Nanoseconds wake_us, StackId stack = {}) {
    wait(span_us, waker);
    trace_.host_waits.back().thread = thread;
    trace_.host_waits.back().wake_ns = wake_us * kUs;
    trace_.host_waits.back().stack = stack;
  }

  void sample(Nanoseconds time_us, format::Sample::State state, StackId stack = StackId{6}) {
    Sample sample;
    sample.span = {time_us * kUs, time_us * kUs};
    sample.thread = kMain;
    sample.count = 1;
    sample.state = state;
    sample.stack = stack;
    trace_.samples.push_back(sample);
  }

  void wait(TimeSpan span_us, ThreadId waker) {
    HostWait wait;
    wait.span = {span_us.begin_ns * kUs, span_us.end_ns * kUs};
    wait.thread = kMain;
    wait.waker = waker;
    wait.wake_ns = wait.span.end_ns - 5 * kUs;
    wait.call = HostCall::kCondition;
    wait.stack = StackId{5};
    trace_.host_waits.push_back(wait);
  }

  void lose_records() {
    trace_.stats.add("ring-full", 3);
    trace_.lossy = {{0, 10'000 * kUs}};
  }

  Trace& trace() { return trace_; }

  // The causes of idle time between two moments, in order.
  std::vector<Part> explained(TimeSpan span_us, TimeSpan window_us = {0, 10'000}) {
    trace_.windows = {{{window_us.begin_ns * kUs, window_us.end_ns * kUs}, "start"}};
    AttributeOptions options;
    options.keep_parts = true;
    const Attribution attribution = attribute(trace_, options);
    REQUIRE(attribution.breaches.empty());
    std::vector<Part> parts;
    for (const Part& part : attribution.parts.at(DeviceId{0})) {
      if (!intersect(part.span, {span_us.begin_ns * kUs, span_us.end_ns * kUs}).empty()) parts.push_back(part);
    }
    return parts;
  }

  static StackFrame frame(std::uint32_t code) {
    StackFrame frame;
    frame.code = code;
    return frame;
  }

 private:
  static Launch launch_row(Nanoseconds begin_us, ApiId api, ThreadId thread) {
    Launch launch;
    launch.span = {begin_us * kUs, (begin_us + 4) * kUs};
    launch.thread = thread;
    launch.api = api;
    return launch;
  }

  Trace trace_;
  std::uint32_t next_ = 1;
};

}  // namespace synctrace::testing
