// SPDX-License-Identifier: Apache-2.0
// Which launches are a dense run: how many, how close, and how many of them short.
#include "attribution/launch_runs.h"

#include <vector>

#include "support/catch.h"

namespace synctrace::testing::launch_runs_test {
namespace {

constexpr Nanoseconds kUs = 1'000;
constexpr ThreadId kThread{100};

// Launches of 4 us each, `pause_us` apart, whose kernels take as long as given.
class Launches {
 public:
  explicit Launches(Nanoseconds pause_us) : pause_ns_(pause_us * kUs) {}

  Launches& launch(int count, Nanoseconds kernel_us) {
    for (; count > 0; --count) {
      Launch launch;
      launch.span = {now_ns_, now_ns_ + 4 * kUs};
      launch.thread = kThread;
      launch.correlation = CorrelationId{next_};
      trace_.launches.push_back(launch);
      Operation kernel;
      kernel.span = {now_ns_ + 10 * kUs, now_ns_ + (10 + kernel_us) * kUs};
      kernel.context = ContextId{1};
      kernel.correlation = CorrelationId{next_++};
      trace_.operations.push_back(kernel);
      now_ns_ += 4 * kUs + pause_ns_;
    }
    return *this;
  }

  Launches& sleep() {
    HostWait wait;
    wait.span = {now_ns_ - pause_ns_ / 2, now_ns_ - 1};
    wait.thread = kThread;
    trace_.host_waits.push_back(wait);
    return *this;
  }

  // Whether the time between the last two launches lies in a run.
  bool are_run() const {
    const Correlation correlation(trace_);
    const HostTimeline host(trace_);
    const LaunchRuns runs(trace_, correlation, host, {});
    return runs.covers(host.index_of(kThread), trace_.launches.back().span.begin_ns);
  }

 private:
  Trace trace_;
  Nanoseconds pause_ns_;
  Nanoseconds now_ns_ = 1'000 * kUs;
  std::uint32_t next_ = 1;
};

}  // namespace

TEST_CASE("a run has eight launches with less than 50 us between any two, and no wait") {
  CHECK(Launches(20).launch(8, 1).are_run());
  CHECK(!Launches(20).launch(7, 1).are_run());
  CHECK(Launches(49).launch(8, 1).are_run());
  CHECK(!Launches(50).launch(8, 1).are_run());
  CHECK(!Launches(20).launch(7, 1).sleep().launch(7, 1).are_run());
}

TEST_CASE(
    "of a run more than half of the launches before the last are shorter on the device than the way to the next") {
  CHECK(!Launches(20).launch(4, 30).launch(5, 1).are_run());   // 4 of 8
  CHECK(Launches(20).launch(4, 30).launch(6, 1).are_run());    // 5 of 9
  CHECK(Launches(20).launch(3, 30).launch(5, 23).are_run());   // 4 of 7
  CHECK(!Launches(20).launch(3, 30).launch(5, 24).are_run());  // equal to the way
}

TEST_CASE("a run lasts from the begin of its first launch to the end of its last") {
  Trace trace;
  for (std::uint32_t i = 0; i < 8; ++i) {
    Launch launch;
    launch.span = {1'000 + i * 1'000, 1'500 + i * 1'000};
    launch.thread = kThread;
    trace.launches.push_back(launch);
  }
  const HostTimeline host(trace);
  const LaunchRuns runs(trace, Correlation(trace), host, {});
  CHECK(!runs.covers(0, 1'000));  // the nanosecond before
  CHECK(runs.covers(0, 1'001));
  CHECK(runs.covers(0, 8'500));
  CHECK(!runs.covers(0, 8'501));
}

}  // namespace synctrace::testing::launch_runs_test
