// SPDX-License-Identifier: Apache-2.0
// Stacks weighed by samples and by waits: what exports of stored traces, most of which have no samples, do not show.
#include "findings/weigh_stacks.h"
#include "attribution/attribute.h"

#include "support/catch.h"

namespace synctrace::testing {
namespace {

Trace trace_with_line() {
  Trace trace;
  trace.codes[1] = Code{"/home/ada/train.py", "step", "", 1, 0x030c0000};
  StackFrame frame;
  frame.code = 1;
  frame.offset_bytes = -1;  // at its first line
  trace.stacks[StackId{1}] = {frame};
  return trace;
}

}  // namespace

TEST_CASE("samples weigh as often as they were taken, by stack and state") {
  Trace trace = trace_with_line();
  const auto sample = [&](std::uint64_t count, format::Sample::State state) {
    Sample row;
    row.span = {1'000, 1'000};
    row.thread = ThreadId{100};
    row.stack = StackId{1};
    row.count = static_cast<decltype(row.count)>(count);
    row.state = state;
    trace.samples.push_back(row);
  };
  sample(3, format::Sample::State::kRunning);
  sample(4, format::Sample::State::kRunning);
  sample(5, format::Sample::State::kBlocked);
  sample(6, static_cast<format::Sample::State>(5));  // that no state is known for
  const StackProfile profile = weigh_stacks(trace, attribute(trace), "test");
  CHECK(profile.total(Measure::kSamples) == 18);
  REQUIRE(profile.stacks().size() == 3);
  const char* states[] = {"[running]", "[blocked]", "[unknown]"};
  const std::int64_t weights[] = {7, 5, 6};
  for (std::size_t i = 0; i < 3; ++i) {
    const WeightedStack& stack = profile.stacks()[i];
    REQUIRE(stack.frames.size() == 2);
    CHECK(profile.frames()[stack.frames[0]].function == "step");
    CHECK(profile.frames()[stack.frames[1]].function == states[i]);
    CHECK(stack.weights[static_cast<std::size_t>(Measure::kSamples)] == weights[i]);
  }
}

TEST_CASE("queries that were a wait weigh as long as they took, a glance weighs nothing") {
  Trace trace = trace_with_line();
  trace.apis[ApiId{1}] = {ApiCategory::kPoll, "cudaStreamQuery"};
  for (const std::uint64_t not_ready : {2U, 3U}) {
    Poll poll;
    poll.span = {static_cast<Nanoseconds>(not_ready) * 10'000, static_cast<Nanoseconds>(not_ready) * 10'000 + 700};
    poll.thread = ThreadId{100};
    poll.api = ApiId{1};
    poll.stack = StackId{1};
    poll.count = not_ready + 1;
    poll.not_ready_count = not_ready;
    trace.polls.push_back(poll);
  }
  const StackProfile profile = weigh_stacks(trace, attribute(trace), "test");
  CHECK(profile.total(Measure::kWaits) == 1);
  CHECK(profile.total(Measure::kHostBlocked) == 700);
  REQUIRE(profile.stacks().size() == 1);
  CHECK(profile.frames()[profile.stacks()[0].frames.back()].function == "cudaStreamQuery");
}

}  // namespace synctrace::testing
