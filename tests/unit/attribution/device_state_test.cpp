// SPDX-License-Identifier: Apache-2.0
// The partition of a device's time, against counting every nanosecond one by one.
#include <algorithm>
#include <random>
#include <vector>

#include "attribution/device_state.h"
#include "model/trace.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

constexpr Nanoseconds kEnd = 400;

Operation make_operation(OperationKind kind, TimeSpan span, CopyKind copy_kind = CopyKind::kUnknown) {
  Operation operation;
  operation.kind = kind;
  operation.span = span;
  operation.copy_kind = copy_kind;
  return operation;
}

bool is_transfer(const Operation& operation) {
  return operation.kind == OperationKind::kCopy && operation.copy_kind != CopyKind::kDeviceToDevice;
}

DeviceState counted(const Trace& trace) {
  DeviceState state;
  for (const Window& window : trace.windows) {
    for (Nanoseconds t = window.span.begin_ns; t < window.span.end_ns; ++t) {
      bool computes = false;
      bool copies = false;
      for (const Operation& operation : trace.operations) {
        if (operation.span.contains(t)) (is_transfer(operation) ? copies : computes) = true;
      }
      ++state.window_ns;
      if (computes)
        ++state.compute_ns;
      else if (copies)
        ++state.copy_only_ns;
      else
        ++state.idle_ns;
    }
  }
  return state;
}

// Up to three disjoint windows, some empty, and up to a dozen operations, some empty, within [0, kEnd).
Trace random_trace(std::mt19937& random) {
  const auto below = [&](Nanoseconds bound) {
    return static_cast<Nanoseconds>(random() % static_cast<std::uint64_t>(bound));
  };
  Trace trace;
  std::vector<Nanoseconds> edges(2 * (1 + below(3)));
  for (Nanoseconds& edge : edges) edge = below(kEnd);
  std::sort(edges.begin(), edges.end());
  for (std::size_t i = 0; i < edges.size(); i += 2) trace.windows.push_back({{edges[i], edges[i + 1]}, "duty"});
  for (Nanoseconds i = below(13); i > 0; --i) {
    const Nanoseconds begin_ns = below(kEnd);
    const auto kind = static_cast<OperationKind>(below(4));
    const CopyKind copy_kind = below(2) == 0 ? CopyKind::kHostToDevice : CopyKind::kDeviceToDevice;
    trace.operations.push_back(make_operation(kind, {begin_ns, begin_ns + below(kEnd / 3)}, copy_kind));
  }
  std::sort(trace.operations.begin(), trace.operations.end(),
            [](const Operation& a, const Operation& b) { return a.span.begin_ns < b.span.begin_ns; });
  trace.contexts[ContextId{1}] = {};
  return trace;
}

}  // namespace

TEST_CASE("the partition is that of counting every nanosecond") {
  std::mt19937 random(20'261'121);
  for (int i = 0; i < 2'000; ++i) {
    CAPTURE(i);
    const Trace trace = random_trace(random);
    const DeviceState expected = counted(trace);
    const auto states = device_states(trace);
    REQUIRE(states.size() == 1);
    const DeviceState& state = states.begin()->second;
    REQUIRE(state.window_ns == expected.window_ns);
    REQUIRE(state.compute_ns == expected.compute_ns);
    REQUIRE(state.copy_only_ns == expected.copy_only_ns);
    REQUIRE(state.idle_ns == expected.idle_ns);
  }
}

TEST_CASE("without windows there is no timeline to partition") {
  Trace trace;
  trace.contexts[ContextId{1}] = {};
  trace.operations.push_back(make_operation(OperationKind::kKernel, {1, 2}));
  CHECK(device_states(trace).empty());
}

TEST_CASE("a device is there for its context, or for its work") {
  Trace trace;
  trace.windows.push_back({{0, 100}, "start"});
  trace.contexts[ContextId{1}] = {DeviceId{2}, StreamId{7}};
  trace.operations.push_back(make_operation(OperationKind::kKernel, {10, 30}));
  const auto states = device_states(trace);
  REQUIRE(states.size() == 2);
  CHECK(states.at(DeviceId{0}).compute_ns == 20);
  CHECK(states.at(DeviceId{2}).idle_ns == 100);
}

}  // namespace synctrace::testing
