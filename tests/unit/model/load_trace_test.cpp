// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <string>

#include "model/load_trace.h"
#include "model/loss_spans.h"
#include "support/catch.h"
#include "support/trace_maker.h"

namespace synctrace::testing {
namespace {

constexpr TestApi kMemcpyAsync{ApiId{1}, format::ApiCategory::kCopyAsync, "cudaMemcpyAsync"};

TEST_CASE("clocks and losses at the end of time are those of the latest time") {
  constexpr Nanoseconds kEndOfTime = std::numeric_limits<Nanoseconds>::max();
  LossSpans spans;
  spans.hole();
  spans.clock(kEndOfTime);
  spans.loss("ring-full", kEndOfTime);
  spans.loss("cupti-dropped", kEndOfTime);
  for (const TimeSpan span : spans.finish(true)) {
    CHECK(span.begin_ns <= span.end_ns);
    CHECK(span.end_ns <= kLatestTime + 1);
  }
}

}  // namespace

TEST_CASE("times that no clock shows are left out and counted") {
  TraceMaker maker;
  maker.add_api(kMemcpyAsync);
  for (const std::int64_t begin_ns : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(), kLatestTime + 1}) {
    format::Call call;
    call.begin_ns = begin_ns;
    maker.add(call);
  }
  format::Kernel kernel;
  kernel.begin_ns = 10;
  kernel.duration_ns = std::numeric_limits<std::uint64_t>::max();
  maker.add(kernel);
  maker.add(maker.make_call(kMemcpyAsync, {5, 5}, kStream, 1));
  const Trace trace = maker.load();
  CHECK(trace.calls.size() == 1);
  CHECK(trace.operations.empty());
  CHECK(trace.stats.count(kLossImpossibleTimes) == 4);
  CHECK(trace.first_ns == 5);
  CHECK(trace.last_ns == 5);
}

TEST_CASE("tables are in order of begin, whatever the order in the file") {
  TraceMaker maker;
  maker.add_api(kMemcpyAsync);
  for (const Nanoseconds begin_ns : {30, 10, 20})
    maker.add(maker.make_call(kMemcpyAsync, {begin_ns, begin_ns + 1}, kStream, 1));
  const Trace trace = maker.load();
  REQUIRE(trace.calls.size() == 3);
  CHECK(trace.calls[0].span.begin_ns == 10);
  CHECK(trace.calls[2].span.begin_ns == 30);
  CHECK(trace.calls[0].category == format::ApiCategory::kCopyAsync);
}

TEST_CASE("a launch that failed keeps what it returned, wherever it lies in the file") {
  TraceMaker maker;
  for (const auto& [begin_ns, status] : {std::pair{30, 2U}, {10, 0U}, {20, 700U}}) {
    format::Launch launch;
    launch.begin_ns = begin_ns;
    launch.correlation = CorrelationId{static_cast<std::uint32_t>(begin_ns)};
    launch.status = status;
    maker.add(launch);
  }
  const Trace trace = maker.load();
  REQUIRE(trace.launches.size() == 3);
  CHECK(status_of(trace, trace.launches[0]) == 0);
  CHECK(status_of(trace, trace.launches[1]) == 700);
  CHECK(status_of(trace, trace.launches[2]) == 2);
}

TEST_CASE("what NVML said makes the recording no longer, and no part of it exceeds the whole") {
  TraceMaker maker;
  maker.add(format::Clock{1'000, 5'000});
  maker.add(format::GpuUse{3'000, 100, DeviceId{2}, 1, 90, 200, ~std::uint64_t{0}, 7});
  maker.add(format::GpuUse{1'500, 100, DeviceId{2}, 0, 0, 0, 0, 0});
  maker.add(format::GpuUse{-1, 100, DeviceId{2}, 0, 0, 0, 0, 0});
  const Trace trace = maker.load();
  CHECK(trace.last_ns < 3'000);
  CHECK(trace.stats.count(kLossImpossibleTimes) == 1);
  REQUIRE(trace.gpu_uses.size() == 2);
  CHECK(trace.gpu_uses[0].span == TimeSpan{1'500, 1'600});
  const GpuUse& use = trace.gpu_uses[1];
  CHECK(use.device == DeviceId{2});
  CHECK(use.others == 1);
  CHECK(use.busy_ns == 90);
  CHECK(use.others_ns == 100);
  CHECK(use.power_ns == 100);
  CHECK(use.thermal_ns == 7);
}

TEST_CASE("of a communicator the last record counts, and its operations are in order of time") {
  TraceMaker maker;
  maker.add(format::Communicator{CommunicatorId{1}, 100, 0xfeed, 0, 0, 0});
  maker.add(format::Communicator{CommunicatorId{1}, 100, 0xfeed, 8, 3, 0xbeef});
  maker.add(format::Communicator{CommunicatorId{2}, -1, 0xdead, 8, 3, 0});
  const auto collective = [](std::int64_t time_ns, std::int32_t peer) {
    format::Collective record;
    record.time_ns = time_ns;
    record.communicator = CommunicatorId{1};
    record.number = 9;
    record.turn = 7;
    record.bytes = 4096;
    record.peer = peer;
    record.group = 5;
    record.captured = true;
    return record;
  };
  maker.add(collective(300, -1));
  maker.add(collective(200, 6));
  maker.add(collective(-5, 6));
  maker.add(format::CollectiveLaunch{ThreadId{1}, 210, 40, 5, CorrelationId{11}, CorrelationId{13}, 2});
  maker.add(format::CollectiveLaunch{ThreadId{1}, 210, ~std::uint64_t{0}, 6, {}, {}, 0});
  const Trace trace = maker.load();
  CHECK(trace.first_ns == 200);  // a window describes communicators that are older than it
  REQUIRE(trace.communicators.size() == 1);
  const Communicator& one = trace.communicators.at(CommunicatorId{1});
  CHECK(one.hash == 0xfeed);
  CHECK(one.ranks == 8);
  CHECK(one.rank == 3);
  CHECK(one.parent_hash == 0xbeef);
  REQUIRE(trace.collectives.size() == 2);
  CHECK(trace.collectives[0].time_ns == 200);
  CHECK(trace.collectives[0].peer == 6);
  CHECK(trace.collectives[0].number == 9);
  CHECK(trace.collectives[0].turn == 7);
  CHECK(trace.collectives[0].bytes == 4096);
  CHECK(trace.collectives[0].captured);
  CHECK(trace.collectives[1].peer == -1);
  REQUIRE(trace.collective_launches.size() == 1);
  CHECK(trace.collective_launches[0].span == TimeSpan{210, 250});
  CHECK(trace.collective_launches[0].group == 5);
  CHECK(trace.collective_launches[0].last_launch == CorrelationId{13});
  CHECK(trace.stats.count(kLossImpossibleTimes) == 3);
}

TEST_CASE("windows are disjoint and closed, whatever their edges were") {
  TraceMaker maker;
  for (const auto& [time_ns, open] : {std::pair{50, 0U}, {100, 1U}, {150, 1U}, {200, 0U}, {250, 0U}, {300, 1U}}) {
    maker.add(format::Window{time_ns, open, "duty"});
  }
  maker.add(maker.make_call(kMemcpyAsync, {350, 400}, kStream, 1));
  const Trace trace = maker.load();
  REQUIRE(trace.windows.size() == 2);
  CHECK(trace.windows[0].span == TimeSpan{100, 200});
  CHECK(trace.windows[1].span == TimeSpan{300, 400});
  CHECK(in_window(trace, {100, 200}));
  CHECK_FALSE(in_window(trace, {99, 120}));
  CHECK_FALSE(in_window(trace, {150, 201}));
  CHECK_FALSE(in_window(trace, {250, 260}));
}

TEST_CASE("graphs that ran outside of the windows are left out unless they were launched in one") {
  TraceMaker maker;
  maker.add_window(100, 200, "delay");
  const auto add_graph = [&](Nanoseconds begin_ns, std::uint32_t correlation) {
    format::Graph run;
    run.begin_ns = begin_ns;
    run.duration_ns = 10;
    run.correlation = CorrelationId{correlation};
    maker.add(run);
  };
  add_graph(80, 1);                               // before
  add_graph(95, 2);                               // into it
  add_graph(150, 3);                              // in it, of a lost launch
  maker.add_kernel({160, 170}, kStream, 150, 4);  // also a launch
  add_graph(210, 4);                              // late
  add_graph(220, 5);                              // after
  maker.add_kernel({300, 310}, kStream, 290, 6);  // no graph
  const Trace trace = maker.load();
  std::vector<Nanoseconds> begins;
  for (const Operation& operation : trace.operations) begins.push_back(operation.span.begin_ns);
  CHECK(begins == std::vector<Nanoseconds>{95, 150, 160, 210, 300});
}

TEST_CASE("the transfer's own record says what memory a call copied") {
  TraceMaker maker;
  maker.add_api(kMemcpyAsync);
  format::Call call = maker.make_call(kMemcpyAsync, {10, 20}, kStream, 3);
  call.flags = format::Call::kKindsFromRanges;
  call.source_memory = format::MemoryKind::kPageable;
  maker.add(call);
  maker.add(format::Copy{12, 5, DeviceId{0}, kContext, kStream, CorrelationId{3}, 64, format::CopyKind::kHostToDevice,
                         format::MemoryKind::kPinned, format::MemoryKind::kDevice});
  const Trace trace = maker.load();
  CHECK(trace.calls[0].source_memory == format::MemoryKind::kPinned);
  CHECK(trace.calls[0].copy_kind == format::CopyKind::kHostToDevice);
}

TEST_CASE("losses add up by name, and a trace without its end says so") {
  TraceMaker maker;
  maker.add(format::Loss{1, "ring-full", 3});
  maker.add(format::Loss{2, "ring-full", 4});
  SECTION("unclean") {
    const Trace trace = maker.load();
    CHECK(trace.stats.count("ring-full") == 7);
    CHECK(trace.stats.count(kLossUncleanEnd) == 1);
  }
  SECTION("closed") {
    maker.add(format::End{3, 5, "exit"});
    CHECK(maker.load().stats.count(kLossUncleanEnd) == 0);
  }
}

TEST_CASE("a large file, parsed by two threads, is in its order") {
  constexpr std::uint64_t kCalls = 150'000;  // worth two threads
  TraceBuilder builder(8U << 10);
  builder.schemas();
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    format::Call call;
    call.begin_ns = 7;
    call.bytes = i;
    call.object = ~i;
    builder.add(call);
    if (i % 100 == 0) builder.add(format::Fact{"last", std::to_string(i)});
  }
  const Result<Trace> trace = load_trace_bytes(builder.bytes(), "test");
  REQUIRE(trace);
  REQUIRE(trace.value().calls.size() == kCalls);
  std::uint64_t in_order = 0;
  for (const Call& call : trace.value().calls) in_order += call.bytes == in_order ? 1 : 0;
  CHECK(in_order == kCalls);
  CHECK(trace.value().facts.at("last") == std::to_string(kCalls - 100));
}

TEST_CASE("layouts that are declared within a large file hold for the records behind them") {
  constexpr std::size_t kRecords = 32'768;  // in a chunk
  constexpr unsigned kFirstKind = 50;
  constexpr unsigned kLastKind = 63;
  const auto declared = [](unsigned kind) {
    const std::string name = "novelty_" + std::to_string(kind);
    const Bytes trace = TraceBuilder().add(format::Schema{kind, name, "at_ns:d what:t"}).bytes();
    const auto* payload = trace.data() + sizeof(format::FileHeader) + sizeof(format::ChunkHeader);
    return Bytes(payload, trace.data() + trace.size());
  };
  Bytes bytes = file_header_bytes();
  append(bytes, chunk_of(declared(kFirstKind), 0));
  for (unsigned kind = kFirstKind; kind < kLastKind; ++kind) {
    const char record[] = {static_cast<char>(kind), 2, 2, 0};  // a time, a text without letters
    Bytes payload;
    for (std::size_t i = 0; i < kRecords; ++i) append(payload, std::as_bytes(std::span(record)));
    append(payload, declared(kind + 1));
    append(bytes, chunk_of(payload, kind - kFirstKind + 1));
  }
  const Result<Trace> trace = load_trace_bytes(bytes, "test");
  REQUIRE(trace);
  CHECK(trace.value().stats.count(kLossUnknownRecords) == kRecords * (kLastKind - kFirstKind));
  CHECK(trace.value().stats.count(kLossBadRecords) == 0);
}

TEST_CASE("a file that is not there is an error with its name") {
  const Result<LoadedTrace> trace = load_trace("no-such-file.synctrace");
  REQUIRE_FALSE(trace);
  CHECK(trace.error().message.find("no-such-file.synctrace") != std::string::npos);
}

}  // namespace synctrace::testing
