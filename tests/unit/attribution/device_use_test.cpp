// SPDX-License-Identifier: Apache-2.0
// Shares of what NVML said, in the steps and without them; and records that no honest watcher wrote.
#include "attribution/device_use.h"

#include "model/trace.h"
#include "steps/steps.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

GpuUse use(TimeSpan span, Nanoseconds others_ns, Nanoseconds power_ns = 0, Nanoseconds thermal_ns = 0) {
  return {span, DeviceId{0}, 1, others_ns, others_ns, power_ns, thermal_ns};
}

Trace trace_of(std::vector<GpuUse> uses) {
  Trace trace;
  trace.first_ns = 0;
  trace.last_ns = 1'000;
  trace.gpu_uses = std::move(uses);
  return trace;
}

Step step(TimeSpan span, StepKind kind) {
  Step step;
  step.kind = kind;
  step.from_ns = span.begin_ns;
  step.length_ns = span.length_ns();
  return step;
}

}  // namespace

TEST_CASE("with steps, what counts is what NVML said in the ordinary ones") {
  Steps steps;
  steps.steps = {step({0, 100}, StepKind::kWarmUp), step({100, 200}, StepKind::kSteady),
                 step({200, 300}, StepKind::kIrregular), step({300, 400}, StepKind::kSteady)};
  const Trace trace = trace_of({use({0, 100}, 100), use({100, 300}, 100), use({300, 500}, 0, 200)});
  const DeviceUse all = device_uses(trace, steps).at(DeviceId{0});
  CHECK(all.looked_ns == 200);
  CHECK(all.busy_ns == 50);
  CHECK(all.others_ns == 50);
  CHECK(all.power_ns == 100);
  CHECK(all.thermal_ns == 0);
  CHECK(all.others == 1);
}

TEST_CASE("without steps the time is that from the first to the last work, or all of it") {
  Trace trace = trace_of({use({0, 1'000}, 500)});
  CHECK(device_uses(trace, {}).at(DeviceId{0}).looked_ns == 1'000);
  Operation operation;
  operation.span = {100, 200};
  trace.operations.push_back(operation);
  const DeviceUse at_work = device_uses(trace, {}).at(DeviceId{0});
  CHECK(at_work.looked_ns == 100);
  CHECK(at_work.others_ns == 50);
}

TEST_CASE("below a twentieth of the time nothing is said, nor where nobody looked") {
  CHECK_FALSE(DeviceUse{}.is_shared());
  CHECK_FALSE(DeviceUse{1'000, 0, 49, 49, 49, 1}.is_shared());
  CHECK_FALSE(DeviceUse{1'000, 0, 49, 49, 49, 1}.is_power_limited());
  CHECK_FALSE(DeviceUse{1'000, 0, 49, 49, 49, 1}.is_too_hot());
  CHECK(DeviceUse{1'000, 0, 50, 0, 0, 1}.is_shared());
  CHECK(DeviceUse{1'000, 0, 0, 50, 0, 1}.is_power_limited());
  CHECK(DeviceUse{1'000, 0, 0, 0, 50, 1}.is_too_hot());
  CHECK(device_uses(trace_of({}), {}).empty());
  CHECK(device_uses(trace_of({use({2'000, 3'000}, 10)}), {}).empty());
}

TEST_CASE("looks that overlap, are empty or last for ever give no share above the whole") {
  const Trace trace = trace_of({use({5, 5}, 0), use({0, kLatestTime}, kLatestTime, kLatestTime, kLatestTime),
                                use({0, kLatestTime}, kLatestTime), use({0, 1'000}, 1'000)});
  const DeviceUse all = device_uses(trace, {}).at(DeviceId{0});
  CHECK(all.looked_ns == 3'000);
  CHECK(all.others_ns <= all.looked_ns);
  CHECK(all.power_ns <= all.looked_ns);
  Steps endless;
  endless.steps = {step({0, kLatestTime}, StepKind::kSteady), step({1, kLatestTime}, StepKind::kSteady)};
  endless.steps.back().length_ns = std::numeric_limits<Nanoseconds>::max();
  CHECK(device_uses(trace, endless).at(DeviceId{0}).looked_ns > 0);
}

}  // namespace synctrace::testing
