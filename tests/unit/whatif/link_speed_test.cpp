// SPDX-License-Identifier: Apache-2.0
#include "whatif/link_speed.h"

#include "support/catch.h"

namespace synctrace::testing {
namespace {

constexpr std::uint64_t kBytes = 64U << 20;

Operation copy(CopyKind kind, MemoryKind host, Nanoseconds length_ns) {
  Operation copy;
  copy.kind = OperationKind::kCopy;
  copy.copy_kind = kind;
  const bool to_device = kind == CopyKind::kHostToDevice;
  copy.source_memory = to_device ? host : MemoryKind::kDevice;
  copy.target_memory = to_device ? MemoryKind::kDevice : host;
  copy.bytes = kBytes;
  copy.span = {1'000, 1'000 + length_ns};
  return copy;
}

double speed(Nanoseconds length_ns) { return static_cast<double>(kBytes) / static_cast<double>(length_ns); }

}  // namespace

TEST_CASE("pinned copies are as fast as those of the trace, of the same direction if there are any") {
  const Operation pageable = copy(CopyKind::kHostToDevice, MemoryKind::kPageable, 8'000'000);
  Trace trace;
  trace.operations = {pageable, copy(CopyKind::kDeviceToHost, MemoryKind::kPinned, 1'500'000)};
  CHECK(LinkSpeed(trace).is_measured());
  CHECK(LinkSpeed(trace).pinned_length(pageable) == 1'500'000);
  trace.operations.push_back(copy(CopyKind::kHostToDevice, MemoryKind::kPinned, 1'300'000));
  CHECK(LinkSpeed(trace).pinned_length(pageable) == 1'300'000);
}

TEST_CASE("without any, they are as fast as the link of such a GPU allows, and never slower than recorded") {
  Trace trace;
  const Operation pageable = copy(CopyKind::kHostToDevice, MemoryKind::kPageable, 8'000'000);
  trace.operations = {pageable};
  CHECK_FALSE(LinkSpeed(trace).is_measured());
  const auto at = [&](std::uint32_t capability) {
    trace.devices[DeviceId{0}].capability_major = capability;
    return speed(LinkSpeed(trace).pinned_length(pageable));
  };
  CHECK((at(7) > 11 && at(7) < 14));
  CHECK((at(8) > 23 && at(8) < 28));
  CHECK((at(9) > 45 && at(9) < 56));
  CHECK(at(10) == at(9));
  const Operation fast = copy(CopyKind::kHostToDevice, MemoryKind::kPageable, 100'000);
  CHECK(LinkSpeed(trace).pinned_length(fast) == 100'000);
}

}  // namespace synctrace::testing
