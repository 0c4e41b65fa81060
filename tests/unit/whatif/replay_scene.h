// SPDX-License-Identifier: Apache-2.0
// Hand-made calls of one thread and their work on two streams, as a program to be run again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/catch.h"
#include "support/replay_support.h"
#include "whatif/replay.h"

namespace synctrace::testing {

inline constexpr Nanoseconds kUs = 1'000;
inline constexpr Nanoseconds kMs = 1'000'000;
inline constexpr ThreadId kThread{100};
inline constexpr ContextId kContext{1};
inline constexpr StreamId kStream{8};
inline constexpr StreamId kOther{9};

// One thread and two streams without a default stream's rule.
class ReplayScene {
 public:
  ReplayScene() {
    trace_.contexts[kContext] = {DeviceId{0}, StreamId{7}};
    trace_.windows.push_back({{0, 100 * kMs}, "start"});
    trace_.last_ns = 100 * kMs;
  }

  Call& call(ApiCategory category, std::string_view name, TimeSpan span, StreamId stream = kStream) {
    const ApiId api{static_cast<std::uint32_t>(trace_.apis.size()) + 1};
    trace_.apis[api] = {category, std::string(name)};
    Call& call = trace_.calls.emplace_back();
    call.span = span;
    call.thread = kThread;
    call.api = api;
    call.stack = StackId{5};
    call.context = kContext;
    call.stream = stream;
    call.category = category;
    return call;
  }

  Operation& work(TimeSpan span, CorrelationId correlation, StreamId stream = kStream) {
    Operation& work = trace_.operations.emplace_back();
    work.span = span;
    work.context = kContext;
    work.stream = stream;
    work.correlation = correlation;
    return work;
  }

  void launch(TimeSpan span, TimeSpan kernel, StreamId stream = kStream) {
    Launch& launch = trace_.launches.emplace_back();
    launch.span = span;
    launch.thread = kThread;
    launch.correlation = CorrelationId{static_cast<std::uint32_t>(trace_.launches.size()) + 100};
    work(kernel, launch.correlation, stream);
  }

  // A stream or event that was not ready ten times.
  void poll(TimeSpan span, std::uint64_t object) {
    Poll& poll = trace_.polls.emplace_back();
    poll.span = span;
    poll.thread = kThread;
    poll.object = object;
    poll.count = 11;
    poll.not_ready_count = 10;
  }

  Trace& trace() { return trace_; }

  ReplayProgram program() {
    attribution_ = attribute(trace_);
    ReplayProgram program = build_program(*attribution_, same_place);
    REQUIRE(program.refusal.empty());
    return program;
  }

 private:
  Trace trace_;
  std::optional<Attribution> attribution_;
};

// The only event of that sort.

// At the end, with the program's only site fixed in lane 1 and in no other.
inline ReplayState fixed_in_lane_1(const ReplayProgram& program) {
  Scenarios scenarios(program);
  scenarios.fix(1, 1);
  ReplayState state = initial_state(program);
  replay(program, scenarios, 0, program.events.size(), state);
  return state;
}

}  // namespace synctrace::testing
