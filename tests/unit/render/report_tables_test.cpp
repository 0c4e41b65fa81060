// SPDX-License-Identifier: Apache-2.0
// The tables beside causes and waits: ranges, functions, kernel families, pageable copies, memory in the steps.
#include <algorithm>
#include <string>

#include "base/name_text.h"
#include "findings/build_report.h"
#include "render/render_text.h"
#include "support/catch.h"
#include "support/trace_maker.h"

namespace synctrace::testing::report_tables_test {
namespace {

constexpr TestApi kCopyApi{ApiId{1}, format::ApiCategory::kCopyAsync, "cudaMemcpyAsync"};
constexpr TestApi kMallocApi{ApiId{2}, format::ApiCategory::kAlloc, "cudaMalloc"};
constexpr TestApi kLaunchApi{ApiId{0}, format::ApiCategory::kLaunch, "cudaLaunchKernel"};
constexpr Nanoseconds kUs = 1'000;
constexpr Nanoseconds kMs = 1'000'000;

Report report_of(TraceMaker& maker) {
  const Trace trace = maker.load();
  const Attribution attribution = attribute(trace);
  CHECK(adds_up(attribution));
  return build_report(trace, attribution, {});
}

void add_range(TraceMaker& maker, std::uint32_t text, TimeSpan span) {
  maker.add(format::NvtxPush{kThread, span.begin_ns, NvtxDomainId{}, StringId{text}});
  maker.add(format::NvtxPop{kThread, span.end_ns, NvtxDomainId{}});
}

const RangeReport& range_named(const Report& report, const std::string& name) {
  const auto found = std::find_if(report.ranges.begin(), report.ranges.end(),
                                  [&](const RangeReport& row) { return row.name == name; });
  REQUIRE(found != report.ranges.end());
  return *found;
}

}  // namespace

TEST_CASE("a range tells what its thread issued and what the device did meanwhile") {
  TraceMaker maker;
  maker.add_window(0, 10 * kMs);
  maker.add_api(kLaunchApi);
  maker.add(format::String{StringId{1}, "forward"});
  maker.add(format::String{StringId{2}, "inner"});
  maker.add_kernel({2 * kMs, 4 * kMs}, kStream, 1 * kMs, 5);
  maker.add_kernel({6 * kMs, 7 * kMs}, kStream, 5 * kMs, 6);
  add_range(maker, 1, {kMs / 2, 3 * kMs});
  add_range(maker, 2, {kMs * 3 / 4, 2 * kMs});
  add_range(maker, 1, {8 * kMs, 9 * kMs});
  const Report report = report_of(maker);
  const RangeReport& forward = range_named(report, "forward");
  CHECK(forward.count == 2);
  CHECK(forward.host_ns == kMs * 7 / 2);
  CHECK(forward.issued_ns == 2 * kMs);
  CHECK(forward.busy_ns == 1 * kMs);
  CHECK(forward.idle_ns == kMs * 5 / 2);
  CHECK(range_named(report, "inner").idle_ns == kMs * 5 / 4);
}

TEST_CASE("of a range that reaches beyond windows, what lies inside them counts, and work that overlaps counts once") {
  TraceMaker maker;
  maker.add_window(0, 4 * kMs);
  maker.add_window(6 * kMs, 10 * kMs);
  maker.add_api(kLaunchApi);
  maker.add(format::String{StringId{1}, "wide"});
  maker.add_kernel({1 * kMs, 3 * kMs}, kStream, kMs / 2, 5);
  maker.add_kernel({2 * kMs, 5 * kMs}, kNullStream, kMs * 3 / 4, 6);
  maker.add_kernel({7 * kMs, 8 * kMs}, kStream, kMs * 13 / 2, 7);
  add_range(maker, 1, {kMs * 5 / 2, kMs * 15 / 2});
  const Report report = report_of(maker);
  CHECK(range_named(report, "wide").busy_ns == 2 * kMs);  // to the first window's end, and half of the last kernel
  CHECK(range_named(report, "wide").idle_ns == 1 * kMs);
}

TEST_CASE("many names that differ in their digits are one row, a few are not") {
  TraceMaker maker;
  maker.add_window(0, 10 * kMs);
  for (std::uint32_t i = 0; i < 17; ++i) {
    maker.add(format::String{StringId{100 + i}, std::string("step ") + std::to_string(i)});
    maker.add(format::String{StringId{200 + i % 3}, std::string("layer") + std::to_string(i % 3)});
    add_range(maker, 100 + i, {i * 100 * kUs, (i + 1) * 100 * kUs});
    add_range(maker, 200 + i % 3, {i * 100 * kUs + 5, i * 100 * kUs + 10});
  }
  const Report report = report_of(maker);
  CHECK(report.ranges.size() == 4);
  CHECK(range_named(report, "step #").count == 17);
  CHECK(range_named(report, "layer0").count == 6);
}

TEST_CASE("functions are added up, with quantiles") {
  TraceMaker maker;
  maker.add_window(0, 100 * kMs);
  maker.add_api(kMallocApi);
  for (std::uint32_t i = 0; i < 100; ++i) {
    const Nanoseconds begin_ns = (i + 1) * kMs / 2;
    maker.add(maker.make_call(kMallocApi, {begin_ns, begin_ns + (i < 98 ? 10 * kUs : 400 * kUs)}, kStream, i + 1));
  }
  const Report report = report_of(maker);
  REQUIRE(report.apis.size() == 1);
  const ApiReport& api = report.apis.front();
  CHECK(api.function == "cudaMalloc");
  CHECK(api.figures.calls == 100);
  CHECK(api.figures.host_ns == 98 * 10 * kUs + 2 * 400 * kUs);
  CHECK(api.figures.longest_ns == 400 * kUs);
  CHECK(std::abs(api.p50_ns - 10 * kUs) < 200);
  CHECK(std::abs(api.p99_ns - 400 * kUs) < 8 * kUs);
}

TEST_CASE("pageable copies have bytes, time and the time of their transfers") {
  TraceMaker maker;
  maker.add_window(0, 100 * kMs);
  maker.add_api(kCopyApi);
  for (const format::MemoryKind memory :
       {format::MemoryKind::kPageable, format::MemoryKind::kPageable, format::MemoryKind::kPinned}) {
    static std::uint32_t correlation = 0;
    const Nanoseconds begin_ns = ++correlation * kMs;
    format::Call call = maker.make_call(kCopyApi, {begin_ns, begin_ns + 500 * kUs}, kStream, correlation);
    call.bytes = 1'000'000;
    call.copy_kind = format::CopyKind::kHostToDevice;
    call.source_memory = memory;
    call.target_memory = format::MemoryKind::kDevice;
    maker.add(call);
    format::Copy copy;
    copy.begin_ns = begin_ns + 100 * kUs;
    copy.duration_ns = 200 * kUs;
    copy.context = kContext;
    copy.stream = kStream;
    copy.correlation = CorrelationId{correlation};
    copy.bytes = 1'000'000;
    copy.copy_kind = call.copy_kind;
    copy.source_memory = memory;
    copy.target_memory = format::MemoryKind::kDevice;
    maker.add(copy);
  }
  const Report report = report_of(maker);
  REQUIRE(report.pageable_copies.size() == 1);
  const SiteCalls& calls = report.pageable_copies.front().calls.front();
  const WaitFigures& row = report.pageable_copies.front().figures;
  CHECK(row.calls == 2);
  CHECK(row.bytes == 2'000'000);
  CHECK(calls.direction == "H2D");
  CHECK(row.host_ns == kMs);
  CHECK(row.device_ns == 400 * kUs);
}

TEST_CASE("memory counts where steps take it, and not before them") {
  TraceMaker maker;
  maker.add_window(0, 12 * kMs);
  maker.add_api(kMallocApi);
  maker.add(format::String{StringId{1}, "step"});
  maker.add(maker.make_call(kMallocApi, {0, kMs / 2}, kStream, 1));
  for (std::uint32_t i = 0; i < 10; ++i) {
    const Nanoseconds begin_ns = (i + 1) * kMs;
    add_range(maker, 1, {begin_ns, begin_ns + kMs});
    if (i < 5) continue;
    format::Call call = maker.make_call(kMallocApi, {begin_ns + 10 * kUs, begin_ns + 20 * kUs}, kStream, i + 2);
    call.bytes = 64;
    maker.add(call);
  }
  const Report report = report_of(maker);
  REQUIRE(report.steps.figures.count > 0);
  REQUIRE(report.step_allocations.size() == 1);
  CHECK(report.step_allocations.front().figures.calls == 5);
  CHECK(report.step_allocations.front().figures.bytes == 320);
  CHECK(report.step_allocations.front().rule() == &kAllocRule);
}

TEST_CASE("irregular steps have their own causes") {
  TraceMaker maker;
  maker.add_api(kLaunchApi);
  maker.add(format::String{StringId{1}, "step"});
  Nanoseconds begin_ns = kMs;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Nanoseconds length_ns = i == 12 ? 9 * kMs : 2 * kMs;
    add_range(maker, 1, {begin_ns, begin_ns + length_ns});
    maker.add_kernel({begin_ns + length_ns - kMs, begin_ns + length_ns}, kStream, begin_ns + length_ns - kMs - 10 * kUs,
                     i + 1);
    begin_ns += length_ns;
  }
  maker.add_window(0, begin_ns + kMs);
  const Report report = report_of(maker);
  REQUIRE(report.steps.irregular.size() == 1);
  CHECK(report.steps.irregular.front().index == 12);
  CHECK(report.steps.irregular.front().length_ns == 9 * kMs);
  CHECK(report.steps.irregular_mean_ns == 9 * kMs);
  CHECK(report.steps.ordinary_mean_ns == 2 * kMs);
  const std::string text = render_text(report, {});
  CHECK(text.find("steps were irregular: 9.0 ms on the average, the others 2.0 ms") != std::string::npos);
  CHECK(text.find("the longest: number 13 (9.0 ms)") != std::string::npos);
  CHECK(text.find("idle because of") != std::string::npos);
  CHECK(render_table(report, "calls", {}).find("were irregular") == std::string::npos);
}

TEST_CASE("a kernel's family has neither templates nor parameters") {
  CHECK(family_text("void at::native::elementwise_kernel<128, 4, (anonymous namespace)::f<float> >(int, float*)") ==
        "at::native::elementwise_kernel");
  CHECK(family_text("cub::DeviceReduce<float>::Kernel<int>(int)") == "cub::DeviceReduce::Kernel");
  CHECK(family_text("triton_poi_fused_add_0") == "triton_poi_fused_add_0");
}

}  // namespace synctrace::testing::report_tables_test
