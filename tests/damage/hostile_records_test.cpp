// SPDX-License-Identifier: Apache-2.0
// Sound files of records that contradict each other: what is cut is counted, and what is said adds up all the same.
#include <limits>
#include <string>

#include "attribution/attribute.h"
#include "format/trace_compress.h"
#include "model/demangle.h"
#include "model/load_trace.h"
#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/trace_builder.h"

using namespace synctrace;
using namespace synctrace::format;
using namespace synctrace::testing;

namespace {

constexpr ThreadId kThread{7};

format::Sample sample(std::int64_t begin_ns, std::uint64_t duration_ns) {
  return {kThread, begin_ns, duration_ns, 1, format::Sample::State::kRunning, {}, {}};
}

Trace loaded(TraceBuilder& trace) { return std::move(load_trace_bytes(trace.bytes(), "test")).value(); }

void add_idle_device(TraceBuilder& trace, std::int64_t end_ns) {
  trace.add(format::Window{1'000, 1, "start"}).add(format::Context{ContextId{1}, DeviceId{0}, StreamId{7}});
  for (const std::int64_t begin_ns : {std::int64_t{2'000}, end_ns}) {
    const auto id = static_cast<CorrelationId>(begin_ns % 1'000'007 + 1);
    trace.add(format::Launch{kThread, begin_ns - 500, 100, ApiId{1}, id, 0, {}});
    trace.add(Kernel{begin_ns, 500, DeviceId{0}, ContextId{1}, StreamId{7}, id, {}, {}, {}, 0});
  }
}

}  // namespace

TEST_CASE("a sample ends where the next one of its thread begins, and that is a loss of that stretch") {
  TraceBuilder trace;
  trace.add(sample(1'000, 9'000)).add(sample(4'000, 1'000)).add(sample(20'000, 0)).add(format::End{30'000, 3, "exit"});
  trace.add(format::Sample{ThreadId{8}, 2'000, 9'000, 1, format::Sample::State::kRunning, {}, {}});
  const Trace result = loaded(trace);
  REQUIRE(result.samples.size() == 4);
  CHECK(result.samples[0].span == TimeSpan{1'000, 4'000});
  CHECK(result.samples[1].span == TimeSpan{2'000, 11'000});  // another thread's
  CHECK(result.samples[2].span == TimeSpan{4'000, 5'000});
  CHECK(result.stats.count(kLossOverlappingSamples) == 1);
  CHECK(result.lossy == std::vector<TimeSpan>{{4'000, 10'001}});
}

TEST_CASE("samples that overlap for seconds are passed one by one, not nanosecond by nanosecond") {
  constexpr std::int64_t kSecond = 1'000'000'000;
  TraceBuilder trace;
  add_idle_device(trace, 30 * kSecond);
  for (std::int64_t i = 0; i < 50; ++i) trace.add(sample(10'000 + i, 29 * kSecond));
  const Trace result = loaded(trace);
  AttributeOptions how;
  how.keep_parts = true;
  const Attribution attribution = attribute(result, how);
  CHECK(attribution.breaches.empty());
  REQUIRE(attribution.parts.size() == 1);
  CHECK(attribution.parts.begin()->second.size() < 200);
  CHECK(result.stats.count(kLossOverlappingSamples) == 49);
}

TEST_CASE("work of more devices than a process can have is left out and counted") {
  TraceBuilder trace;
  trace.add(format::Window{1, 1, "start"});
  for (std::uint32_t id = 0; id < 1'000; ++id)
    trace.add(format::Context{static_cast<ContextId>(id + 1), static_cast<DeviceId>(id), StreamId{7}});
  trace.add(Kernel{100, 50, DeviceId{5}, ContextId{6}, StreamId{7}, {}, {}, {}, {}, 0});
  trace.add(Kernel{100, 50, DeviceId{999}, ContextId{6}, StreamId{7}, {}, {}, {}, {}, 0});
  const Trace result = loaded(trace);
  CHECK(result.contexts.size() == 64);
  CHECK(result.operations.size() == 1);
  CHECK(result.stats.count(kLossTooManyDevices) == 1'000 - 64 + 1);
}

TEST_CASE("numbers that no device, copy or memory has are left out or not known") {
  constexpr std::uint32_t kNoDevice = 0x1'0000;
  constexpr auto kCopy = static_cast<format::CopyKind>(0x18);      // its lower four bits are a copy in the device
  constexpr auto kMemory = static_cast<format::MemoryKind>(0x12);  // likewise, pinned
  TraceBuilder trace;
  trace.add(Kernel{90, 50, DeviceId{kNoDevice}, ContextId{6}, StreamId{7}, {}, {}, {}, {}, 0});
  trace.add(
      Copy{100, 50, DeviceId{kNoDevice - 1}, ContextId{6}, StreamId{7}, {}, 4, kCopy, kMemory, kMemory, 0, {}, 0});
  const Trace result = loaded(trace);
  REQUIRE(result.operations.size() == 1);
  const Operation& copy = result.operations.front();
  CHECK(copy.device == DeviceId{kNoDevice - 1});
  CHECK(copy.copy_kind == CopyKind::kUnknown);
  CHECK(copy.source_memory == MemoryKind::kUnknown);
  CHECK(copy.target_memory == MemoryKind::kUnknown);
  CHECK(result.stats.count(kLossTooManyDevices) == 1);
}

TEST_CASE("stacks whose names are a thousand times as long as they are are left out and counted") {
  TraceBuilder trace;
  const std::string name(16'000, 'f');
  std::string frames;
  for (int i = 0; i < 16; ++i) frames += "n1:1 ";
  trace.add(Symbol{1, 1, 0, 1, 7, 1, name, "x.cpp"});
  for (std::uint32_t id = 1; id <= 1'000; ++id) trace.add(Stack{static_cast<StackId>(id), frames});
  const Trace result = loaded(trace);
  CHECK(result.stacks.size() == 1'000);
  CHECK(result.stats.count(kLossSwollenStacks) > 500);
  CHECK(result.stats.count(kLossSwollenStacks) < 1'000);
}

TEST_CASE("looks at children keep to times that a clock can show") {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  const auto look = [](std::int64_t time_ns, std::int64_t started_ns, std::uint64_t used_ns) {
    format::ChildLook record;
    record.time_ns = time_ns;
    record.started_ns = started_ns;
    record.cpu_ns = record.ready_ns = record.read_bytes = used_ns;
    return record;
  };
  TraceBuilder trace;
  trace.add(look(5'000, 700, 300)).add(look(4'000, std::numeric_limits<std::int64_t>::min(), kMost));
  trace.add(look(-1, 0, 0)).add(look(std::numeric_limits<std::int64_t>::max(), 0, 0));
  const Trace result = loaded(trace);
  REQUIRE(result.child_looks.size() == 2);
  CHECK(result.child_looks[0].time_ns == 4'000);
  CHECK(result.child_looks[0].started_ns == 0);
  CHECK(result.child_looks[0].cpu_ns == kLatestTime);
  CHECK(result.child_looks[0].ready_ns == kLatestTime);
  CHECK(result.child_looks[1].cpu_ns == 300);
  CHECK(result.stats.count(kLossImpossibleTimes) == 2);
  CHECK(result.first_ns == 4'000);
  CHECK(result.last_ns == 5'000);
}

TEST_CASE("chunks that spread too far are neither written nor read") {
  const TemporaryFolder folder;
  TraceBuilder same(4U << 20);
  for (int i = 0; i < 4'000'000; ++i) same.add(Loss{0, "same", 0});
  const std::string path = folder.write("same.synctrace", same.bytes());
  const auto compressed = compress_trace(path);
  REQUIRE(compressed);
  CHECK(compressed.value().compressed_chunks > 0);
  CHECK(compressed.value().bytes_after > 1'000'000);  // a chunk was left as it was; else some KiB
  const auto again = load_trace(path);
  REQUIRE(again);
  CHECK(again.value().trace.stats.count(kLossBadChunks) == 0);

  CHECK(is_honest_size(1'000, 16U << 20));
  CHECK_FALSE(is_honest_size(1'000'000, 64U << 20));
}

TEST_CASE("a name that would be gigabytes in words stays as it is") {
  std::string name = "_Z1fSt4pairIiiE";
  for (const char part : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    name += std::string("S_IS") + part + "_S" + part + "_E";
  }
  CHECK(measure_words(name) > kLongestWords);
  CHECK(demangled(name) == name);
  CHECK(demangled("_Z4stepPfi") == "step(float*, int)");
  const std::string nested = "_ZN2at6native13reduce_kernelILi512ELi1EEEvNS0_8ReduceOpIfNS_4HalfEEE";
  CHECK(demangled(nested) == "void at::native::reduce_kernel<512, 1>(at::native::ReduceOp<float, at::Half>)");
  CHECK(measure_words(nested) >= demangled(nested).size());
  CHECK(measure_words(nested) < 2'000);
}
