// SPDX-License-Identifier: Apache-2.0
// Regular looks at the Python frames of a thread that launches. The calls and their times are made up: a minute ahead
// of the clock, so that a stack seems to cost less than nothing and the budget, which has tests of its own, allows all.
#include <cupti.h>

#include <algorithm>
#include <map>
#include <vector>

#include "capture/cupti/call_stacks.h"
#include "capture/process/clocks.h"
#include "capture/process/recorder_state.h"
#include "capture_support.h"
#include "made_up_python.h"

namespace synctrace::capture {
namespace {

constexpr std::int64_t kAheadNs = 60'000'000'000;
constexpr std::int64_t kEveryNs = 20'000;  // less than a pause
constexpr std::int64_t kLaunchNs = 2'000;
constexpr std::int64_t kShortestNs = 125'000;  // from a stack to the next look
constexpr std::int64_t kLongestNs = 388'000;

void start(bool with_frame) {
  testing::make_stack();
  testing::start_stacks(StackKinds::kAll);
  recorder_state = RecorderState::kTimeline;
  if (!with_frame) testing::thread_state.put(testing::kLayout.thread_frame, std::uintptr_t{0});
}

// Launches of one thread, without a pause between them.
class Launches {
 public:
  bool next_has_stack() {
    now_ += kEveryNs;
    const CallStack stack = stack_at_entry(*launch_, &params_, now_);
    stack_at_exit(stack, now_, now_ + kLaunchNs);
    return stack.id != StackId{};
  }
  std::int64_t now() const { return now_; }

 private:
  const TracedCall* launch_ = find_traced_call(format::ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  const cuLaunchKernel_params params_{};
  inline static std::int64_t now_ = now_ns() + kAheadNs;  // the thread's, which has one after the other
};

TEST_CASE("a launch of a thread with Python frames has a stack when its last one is some 250 us old") {
  start(true);
  Launches launches;
  launches.next_has_stack();
  std::vector<std::int64_t> distances;
  std::int64_t last_ns = launches.now();
  constexpr int kLaunches = 100'000;
  for (int i = 0; i < kLaunches; ++i) {
    if (!launches.next_has_stack()) continue;
    distances.push_back(launches.now() - last_ns);
    last_ns = launches.now();
  }
  CHECK(*std::max_element(distances.begin(), distances.end()) <= kLongestNs + kEveryNs);
  // Looks and samples, of which no look comes sooner: one launch in some 64 has a stack by chance.
  const auto soon = std::count_if(distances.begin(), distances.end(), [](auto ns) { return ns < kShortestNs; });
  CHECK(soon > 0);
  CHECK(soon < kLaunches / 64 * kShortestNs / 250'000);
  // They fall on no raster of their own, which could be that of a loop.
  std::map<std::int64_t, std::size_t> counts;
  for (const std::int64_t distance : distances) ++counts[distance];
  for (const auto& [distance, count] : counts) CHECK(count < distances.size() / 5);
}

TEST_CASE("a thread without Python frames is asked again every 10 ms, and the samples by chance are as they were") {
  start(false);
  Launches launches;
  launches.next_has_stack();
  const std::uint64_t before = call_stack_counts.taken();
  constexpr int kLaunches = 100'000;  // 2 s
  std::uint64_t sampled = 0;
  for (int i = 0; i < kLaunches; ++i) sampled += launches.next_has_stack() ? 1 : 0;
  const std::uint64_t looks = call_stack_counts.taken() - before - sampled;
  CHECK(looks > 150);
  CHECK(looks <= 200);
  CHECK(sampled > kLaunches / 64 * 9 / 10);
  CHECK(sampled < kLaunches / 64 * 11 / 10);
}

}  // namespace
}  // namespace synctrace::capture
