// SPDX-License-Identifier: Apache-2.0
// Which calls get a stack: the calls are made up, the stacks and the time are real.
#include "capture/cupti/call_stacks.h"

#include <cupti.h>

#include "capture/process/clocks.h"
#include "capture/process/recorder_state.h"
#include "capture_support.h"

namespace synctrace::capture {
namespace {

using format::ApiDomain;

CallStack call(const TracedCall& traced, const void* params) {
  const std::int64_t begin_ns = now_ns();
  const CallStack stack = stack_at_entry(traced, params, begin_ns);
  stack_at_exit(stack, begin_ns, now_ns());
  return stack;
}

bool has_stack(const CallStack& stack) { return stack.id != StackId{}; }

TEST_CASE("a copy within a device is work, whatever it is called; one that leaves it can wait") {
  testing::start_stacks(StackKinds::kNative);
  recorder_state = RecorderState::kTimeline;
  const TracedCall* runtime = find_traced_call(ApiDomain::kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
  const TracedCall* driver = find_traced_call(ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2);
  REQUIRE(runtime != nullptr);
  REQUIRE(driver != nullptr);
  cudaMemcpyAsync_v3020_params copy{};
  for (const cudaMemcpyKind kind : {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDefault}) {
    copy.kind = kind;
    CHECK(call(*runtime, &copy).is_wanted);
  }
  copy.kind = cudaMemcpyDeviceToDevice;
  const CallStack within = call(*runtime, &copy);
  CHECK(has_stack(within));
  CHECK_FALSE(within.is_wanted);
  const cuMemcpyDtoDAsync_v2_params named{};
  CHECK_FALSE(call(*driver, &named).is_wanted);
}

TEST_CASE("a copy within a device has no stack where only waits are recorded") {
  testing::start_stacks(StackKinds::kNative);
  recorder_state = RecorderState::kSyncs;
  const TracedCall* traced = find_traced_call(ApiDomain::kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
  REQUIRE(traced != nullptr);
  cudaMemcpyAsync_v3020_params copy{};
  copy.kind = cudaMemcpyDeviceToDevice;
  CHECK_FALSE(has_stack(call(*traced, &copy)));
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK(has_stack(call(*traced, &copy)));
}

TEST_CASE("a launch behind a pause has a stack, and of those without a pause one in some 64") {
  testing::start_stacks(StackKinds::kNative);
  const TracedCall* launch = find_traced_call(ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  REQUIRE(launch != nullptr);
  const cuLaunchKernel_params params{};
  call(*launch, &params);
  for (const std::int64_t until_ns = now_ns() + 100'000; now_ns() < until_ns;) {
  }
  CHECK(has_stack(call(*launch, &params)));
  constexpr int kLaunches = 6'400;
  int sampled = 0;
  for (int i = 0; i < kLaunches; ++i) sampled += has_stack(call(*launch, &params)) ? 1 : 0;
  CHECK(sampled > 0);
  CHECK(sampled <= kLaunches / 32);
}

}  // namespace
}  // namespace synctrace::capture
