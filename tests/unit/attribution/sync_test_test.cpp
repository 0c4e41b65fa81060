// SPDX-License-Identifier: Apache-2.0
// The judgement of single calls in situations that the table of blocking_calls_test does not cover.
#include <vector>

#include "attribution/sync_test.h"
#include "support/catch.h"
#include "support/trace_maker.h"

namespace synctrace::testing::sync_test_test {
namespace {

using format::ApiCategory;
using format::CopyKind;
using format::MemoryKind;

constexpr Nanoseconds kMicrosecond = 1'000;
constexpr Nanoseconds kMillisecond = 1'000'000;

constexpr TestApi kStreamSync{ApiId{1}, ApiCategory::kStreamSync, "cudaStreamSynchronize"};
constexpr TestApi kDeviceSync{ApiId{2}, ApiCategory::kDeviceSync, "cudaDeviceSynchronize"};
constexpr TestApi kEventSync{ApiId{3}, ApiCategory::kEventSync, "cudaEventSynchronize"};
constexpr TestApi kEventRecord{ApiId{4}, ApiCategory::kStreamEvent, "cudaEventRecord"};
constexpr TestApi kFree{ApiId{5}, ApiCategory::kFree, "cudaFree"};
constexpr TestApi kMemcpy{ApiId{6}, ApiCategory::kCopy, "cudaMemcpy"};
constexpr TestApi kLibrary{ApiId{7}, ApiCategory::kOther, "libraryEntryPoint"};
constexpr TestApi kMalloc{ApiId{8}, ApiCategory::kAlloc, "cudaMalloc"};
constexpr TestApi kPool{ApiId{9}, ApiCategory::kPoolAlloc, "cudaMallocAsync"};

TraceMaker maker_with_apis() {
  TraceMaker maker;
  for (const TestApi& api :
       {kStreamSync, kDeviceSync, kEventSync, kEventRecord, kFree, kMemcpy, kLibrary, kMalloc, kPool}) {
    maker.add_api(api);
  }
  maker.add_stream(kStream, format::Stream::kNonBlocking);
  return maker;
}

struct Judged {
  Trace trace;
  std::vector<Judgement> judgements;
  const Judgement& last() const { return judgements.back(); }
};

Judged judge(TraceMaker& maker) {
  Trace trace = maker.load();
  Attribution attribution = attribute(trace);
  REQUIRE(adds_up(attribution));
  REQUIRE_FALSE(attribution.judgements.empty());
  return {std::move(trace), std::move(attribution.judgements)};
}

constexpr TimeSpan at(Nanoseconds begin_ns, Nanoseconds length_ns) { return {begin_ns, begin_ns + length_ns}; }

}  // namespace

TEST_CASE("an explicit wait lasts until its stream's work is over, plus the return") {
  TraceMaker maker = maker_with_apis();
  maker.add_window(0, 100 * kMillisecond);
  maker.add_kernel(at(kMillisecond, 5 * kMillisecond), kStream, kMillisecond - 5 * kMicrosecond, 1);
  SECTION("which ends during the call") {
    maker.add(maker.make_call(kStreamSync, {2 * kMillisecond, 6 * kMillisecond + 4 * kMicrosecond}, kStream, 2));
    const Judged judged = judge(maker);
    CHECK(judged.last().verdict == Verdict::kBlocked);
    CHECK(judged.last().basis == Basis::kTimeline);
    CHECK(judged.last().blocked_ns == 4 * kMillisecond + 4 * kMicrosecond);
  }
  SECTION("but not for what the thread did after that") {
    maker.add(maker.make_call(kStreamSync, {2 * kMillisecond, 8 * kMillisecond}, kStream, 2));
    CHECK(judge(maker).last().blocked_ns == 4 * kMillisecond + 6 * kMicrosecond);  // rho is 6 us until measured
  }
  SECTION("even when the device's clock is a little ahead") {
    maker.add(maker.make_call(kStreamSync, {2 * kMillisecond, 6 * kMillisecond - 3 * kMicrosecond}, kStream, 2));
    CHECK(judge(maker).last().verdict == Verdict::kBlocked);
  }
  SECTION("and is redundant on another stream") {
    maker.add_stream(StreamId{14}, format::Stream::kNonBlocking);
    maker.add(maker.make_call(kStreamSync, at(2 * kMillisecond, 2 * kMicrosecond), StreamId{14}, 2));
    CHECK(judge(maker).last().verdict == Verdict::kRedundant);
  }
  SECTION("and is unknown when it returned long before that") {
    maker.add(maker.make_call(kStreamSync, at(2 * kMillisecond, kMillisecond), kStream, 2));
    CHECK(judge(maker).last().verdict == Verdict::kUnknown);
    CHECK(judge(maker).last().blocked_ns == 0);
  }
}

TEST_CASE("a wait for an event is a wait for the work before its last record") {
  TraceMaker maker = maker_with_apis();
  maker.add_window(0, 100 * kMillisecond);
  maker.add_kernel(at(kMillisecond, 2 * kMillisecond), kStream, kMillisecond - 10 * kMicrosecond, 1);
  format::Call record = maker.make_call(kEventRecord, at(kMillisecond, 2 * kMicrosecond), kStream, 2);
  record.object = 0xe0;
  maker.add(record);
  maker.add_kernel(at(3 * kMillisecond, 10 * kMillisecond), kStream, kMillisecond + 10 * kMicrosecond, 3);
  SECTION("outstanding") {
    format::Call wait =
        maker.make_call(kEventSync, {2 * kMillisecond, 3 * kMillisecond + 5 * kMicrosecond}, StreamId{}, 4);
    wait.object = 0xe0;
    maker.add(wait);
    CHECK(judge(maker).last().verdict == Verdict::kBlocked);
  }
  SECTION("over, although its stream goes on") {
    format::Call wait = maker.make_call(kEventSync, at(4 * kMillisecond, 2 * kMicrosecond), StreamId{}, 4);
    wait.object = 0xe0;
    maker.add(wait);
    CHECK(judge(maker).last().verdict == Verdict::kRedundant);
  }
}

TEST_CASE("a copy with nothing in flight waits for itself only") {
  TraceMaker maker = maker_with_apis();
  maker.add_window(0, 100 * kMillisecond);
  format::Call call = maker.make_call(kMemcpy, at(kMillisecond, 3 * kMillisecond), kNullStream, 5);
  call.copy_kind = CopyKind::kDeviceToHost;
  call.target_memory = MemoryKind::kPinned;
  call.bytes = 64U << 20;
  maker.add(call);
  maker.add(format::Copy{kMillisecond + 10 * kMicrosecond,
                         static_cast<std::uint64_t>(3 * kMillisecond - 20 * kMicrosecond), DeviceId{0}, kContext,
                         kNullStream, CorrelationId{5}, 64U << 20, CopyKind::kDeviceToHost});
  CHECK(judge(maker).last().verdict == Verdict::kOwnWork);
  CHECK(judge(maker).last().blocked_ns == 0);
}

TEST_CASE("a free that outlived all work waited for it, however late it returned") {
  TraceMaker maker = maker_with_apis();
  maker.add_window(0, 100 * kMillisecond);
  maker.add_kernel(at(kMillisecond, 5 * kMillisecond), kStream, kMillisecond - 5 * kMicrosecond, 1);
  SECTION("late") {
    maker.add(maker.make_call(kFree, {2 * kMillisecond, 12 * kMillisecond}, StreamId{}, 2));
    CHECK(judge(maker).last().verdict == Verdict::kBlocked);
    CHECK(judge(maker).last().blocked_ns == 4 * kMillisecond + 6 * kMicrosecond);
  }
  SECTION("but not when the work outlived it") {
    maker.add(maker.make_call(kFree, {2 * kMillisecond, 5 * kMillisecond}, StreamId{}, 2));
    CHECK(judge(maker).last().verdict == Verdict::kReturnedAtOnce);
  }
}

TEST_CASE("starting CUDA up is no wait, whatever the call is for") {
  for (const bool timeline : {true, false}) {
    for (const TestApi& api : {kFree, kDeviceSync, kMalloc}) {
      CAPTURE(timeline, api.name);
      TraceMaker maker = maker_with_apis();
      if (timeline) maker.add_window(0, 1'000 * kMillisecond);
      format::Resource created;
      created.thread = kThread;
      created.time_ns = 50 * kMillisecond;
      created.what = format::Resource::What::kContextCreated;
      maker.add(created);
      maker.add(maker.make_call(api, at(kMillisecond, 110 * kMillisecond), StreamId{}, 1));
      CHECK(judge(maker).last().verdict == Verdict::kReturnedAtOnce);
      CHECK(judge(maker).last().creates_context);
    }
  }
}

TEST_CASE("a context belongs to the call in which it came to be, first and last moment included") {
  constexpr TimeSpan kSpan = at(kMillisecond, 110 * kMillisecond);
  for (const Nanoseconds created_ns : {kSpan.begin_ns - 1, kSpan.begin_ns, kSpan.end_ns, kSpan.end_ns + 1}) {
    CAPTURE(created_ns);
    TraceMaker maker = maker_with_apis();
    format::Resource created;
    created.thread = kThread;
    created.time_ns = created_ns;
    created.what = format::Resource::What::kContextCreated;
    maker.add(created);
    maker.add(maker.make_call(kMalloc, kSpan, StreamId{}, 1));
    CHECK(judge(maker).last().creates_context == (created_ns >= kSpan.begin_ns && created_ns <= kSpan.end_ns));
  }
}

TEST_CASE("an unknown function is a wait when its calls keep returning with the GPU") {
  constexpr int kMany = 6;
  const auto trace_with = [&](int calls, int waiting) {
    TraceMaker maker = maker_with_apis();
    maker.add_window(0, 1'000 * kMillisecond);
    for (int i = 0; i < calls; ++i) {
      const Nanoseconds start_ns = (1 + 10 * i) * kMillisecond;
      maker.add_kernel(at(start_ns, 5 * kMillisecond), kStream, start_ns - 10 * kMicrosecond,
                       static_cast<std::uint32_t>(10 + i));
      const Nanoseconds length_ns = i < waiting ? 4 * kMillisecond + 10 * kMicrosecond : kMillisecond;
      maker.add(maker.make_call(kLibrary, at(start_ns + kMillisecond, length_ns), StreamId{}, 0));
    }
    return judge(maker);
  };
  CHECK(trace_with(kMany, kMany).last().verdict == Verdict::kBlocked);
  CHECK(trace_with(kMany, kMany).last().blocked_ns == 4 * kMillisecond + 6 * kMicrosecond);
  SECTION("once may be chance") { CHECK(trace_with(1, 1).last().verdict == Verdict::kReturnedAtOnce); }
  SECTION("half of the time may be chance") {
    for (const Judgement& judgement : trace_with(kMany, kMany / 2).judgements)
      CHECK(judgement.verdict != Verdict::kBlocked);
  }
}

TEST_CASE("work that the window does not hold is not taken for nothing") {
  TraceMaker maker = maker_with_apis();
  SECTION("a window that opened in the middle of the run") {
    maker.add_window(kMillisecond, 100 * kMillisecond, "delay");
    maker.add(maker.make_call(kStreamSync, at(2 * kMillisecond, 10 * kMillisecond), kStream, 1));
    CHECK(judge(maker).last().verdict == Verdict::kBlocked);
    CHECK(judge(maker).last().basis == Basis::kLength);
  }
  SECTION("a window from the start holds all work") {
    maker.add_window(kMillisecond, 100 * kMillisecond, "start");
    maker.add(maker.make_call(kStreamSync, at(2 * kMillisecond, 10 * kMillisecond), kStream, 1));
    CHECK(judge(maker).last().verdict == Verdict::kRedundant);
  }
  SECTION("a call after the window is judged by its length") {
    maker.add_window(kMillisecond, 5 * kMillisecond, "start");
    maker.add(maker.make_call(kDeviceSync, at(6 * kMillisecond, 10 * kMillisecond), StreamId{}, 1));
    CHECK(judge(maker).last().verdict == Verdict::kBlocked);
    CHECK(judge(maker).last().basis == Basis::kLength);
    CHECK(judge(maker).last().blocked_ns == 10 * kMillisecond);
  }
}

TEST_CASE("devices do not wait for each other") {
  TraceMaker maker = maker_with_apis();
  maker.add(format::Context{ContextId{2}, DeviceId{1}, StreamId{7}});
  maker.add_window(0, 100 * kMillisecond);
  maker.add_kernel(at(kMillisecond, 20 * kMillisecond), kStream, kMillisecond - 5 * kMicrosecond, 1);
  format::Call other = maker.make_call(kDeviceSync, at(2 * kMillisecond, 3 * kMicrosecond), StreamId{}, 2);
  other.context = ContextId{2};
  maker.add(other);
  CHECK(judge(maker).last().verdict == Verdict::kRedundant);
}

TEST_CASE("return latency and unblocked cost are measured once there are enough samples") {
  TraceMaker maker = maker_with_apis();
  maker.add_window(0, 1'000 * kMillisecond);
  for (int i = 0; i < 5; ++i) {
    const Nanoseconds start_ns = (1 + 10 * i) * kMillisecond;
    maker.add_kernel(at(start_ns, kMillisecond), kStream, start_ns - 5 * kMicrosecond,
                     static_cast<std::uint32_t>(10 + i));
    maker.add(maker.make_call(kStreamSync, {start_ns, start_ns + kMillisecond + (10 + i) * kMicrosecond}, kStream, 0));
    maker.add(maker.make_call(kMalloc, at(start_ns + 3 * kMillisecond, (100 + i) * kMicrosecond), StreamId{}, 0));
  }
  const Calibration calibration = attribute(maker.load()).calibration;
  CHECK(calibration.return_latency.samples == 5);
  CHECK(calibration.return_latency.p50_ns == 12 * kMicrosecond);
  CHECK(calibration.cost_of(kMalloc.id, kMalloc.category).p50_ns == 102 * kMicrosecond);
  CHECK(calibration.cost_of(kFree.id, kFree.category).samples == 0);
}

TEST_CASE("a wait behind which a pool gives its memory back tells no return latency") {
  TraceMaker maker = maker_with_apis();
  maker.add_window(0, 1'000 * kMillisecond);
  for (int i = 0; i < 6; ++i) {
    const Nanoseconds start_ns = (1 + 10 * i) * kMillisecond;
    const Nanoseconds took_ns = i == 0 ? 2 * kMicrosecond : 400 * kMicrosecond;
    maker.add(maker.make_call(kPool, at(start_ns - 500 * kMicrosecond, took_ns), StreamId{}, 0));
    maker.add_kernel(at(start_ns, kMillisecond), kStream, start_ns - 5 * kMicrosecond,
                     static_cast<std::uint32_t>(10 + i));
    maker.add(maker.make_call(kStreamSync, {start_ns, start_ns + 4 * kMillisecond}, kStream, 0));
  }
  const Attribution attribution = attribute(maker.load());
  CHECK(attribution.calibration.return_latency.samples == 0);  // one sample: too few
  CHECK(attribution.breaches.empty());
}

}  // namespace synctrace::testing::sync_test_test
