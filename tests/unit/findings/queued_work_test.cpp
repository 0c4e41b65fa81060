// SPDX-License-Identifier: Apache-2.0
// A wait costs nothing where the GPU has work for longer than the host needs to issue more.
#include "findings/calls/queued_work.h"

#include "support/catch.h"

namespace synctrace::testing::queued_work_test {
namespace {

constexpr ContextId kContext{1};

// Work of 100 us each, from these times on, and launches at those.
Trace trace_of(const std::vector<Nanoseconds>& work, const std::vector<Nanoseconds>& launches) {
  Trace trace;
  trace.contexts[kContext] = {DeviceId{}, StreamId{7}};
  for (const Nanoseconds begin_ns : work) trace.operations.emplace_back().span = {begin_ns, begin_ns + 100'000};
  for (const Nanoseconds begin_ns : launches) trace.launches.emplace_back().span = {begin_ns, begin_ns + 5'000};
  trace.windows.push_back({{0, 10'000'000}, "start"});
  return trace;
}

}  // namespace

TEST_CASE("queued work outlasts a wait if the host issues more before it ends") {
  const Trace trace = trace_of({0, 101'000, 202'000}, {10'000, 20'000, 250'000});
  REQUIRE(trace.has_timeline());
  const QueuedWork queued(trace);
  CHECK(queued.outlasts(kContext, 100'500));        // pauses between queued work are work
  CHECK_FALSE(queued.outlasts(kContext, 260'000));  // nothing is issued any more
  CHECK_FALSE(queued.outlasts(kContext, 302'000));  // at the end of all work
  CHECK_FALSE(queued.outlasts(kContext, 400'000));
}

TEST_CASE("what the host issues too late leaves the GPU idle") {
  const Trace trace = trace_of({0, 500'000}, {150'000});
  const QueuedWork queued(trace);
  CHECK_FALSE(queued.outlasts(kContext, 50'000));
  CHECK_FALSE(queued.outlasts(kContext, 120'000));
}

TEST_CASE("a copy is no work that hides a wait") {
  Trace trace = trace_of({0, 101'000}, {10'000, 20'000, 150'000});
  for (Operation& work : trace.operations) work.kind = OperationKind::kCopy;
  CHECK_FALSE(QueuedWork(trace).outlasts(kContext, 50'000));
}

TEST_CASE("without a timeline nothing is known to outlast") {
  Trace trace;
  trace.launches.emplace_back().span = {0, 5'000};
  CHECK_FALSE(QueuedWork(trace).outlasts(kContext, 0));
}

}  // namespace synctrace::testing::queued_work_test
