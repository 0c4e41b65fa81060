// SPDX-License-Identifier: Apache-2.0
// NVTX events as ranges: nesting by thread and domain, ranges across threads, and what has no partner.
#include <vector>

#include "model/nvtx_ranges.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

using What = NvtxEvent::What;

NvtxEvent event(Nanoseconds t, std::uint32_t thread, What what, std::uint32_t text = 0, std::uint64_t range = 0,
                std::uint32_t domain = 0) {
  return {t, ThreadId{thread}, NvtxDomainId{domain}, StringId{text}, range, what};
}

std::vector<NvtxRange> ranges_of(std::vector<NvtxEvent> events, Nanoseconds last_ns = 1'000) {
  Trace trace;
  trace.nvtx_events = std::move(events);
  trace.last_ns = last_ns;
  return nvtx_ranges(trace);
}

}  // namespace

TEST_CASE("pushed ranges nest by thread and domain") {
  const auto ranges =
      ranges_of({event(10, 1, What::kPush, 1), event(20, 1, What::kPush, 2), event(25, 2, What::kPush, 3),
                 event(26, 1, What::kPush, 4, 0, 9), event(30, 1, What::kPop), event(40, 1, What::kPop),
                 event(50, 2, What::kPop), event(60, 1, What::kPop, 0, 0, 9)});
  REQUIRE(ranges.size() == 4);
  CHECK(ranges[0].span == TimeSpan{10, 40});
  CHECK(ranges[0].depth == 0);
  CHECK(ranges[1].span == TimeSpan{20, 30});
  CHECK(ranges[1].depth == 1);
  CHECK(ranges[2].span == TimeSpan{25, 50});
  CHECK(ranges[3].span == TimeSpan{26, 60});
  CHECK(ranges[3].depth == 0);
}

TEST_CASE("a started range ends wherever it is ended") {
  const auto ranges =
      ranges_of({event(10, 1, What::kStart, 1, 5), event(20, 1, What::kStart, 1, 6), event(30, 2, What::kEnd, 0, 5),
                 event(40, 1, What::kEnd, 0, 6), event(45, 1, What::kEnd, 0, 6)});
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].span == TimeSpan{10, 30});
  CHECK_FALSE(ranges[0].pushed);
  CHECK(ranges[1].span == TimeSpan{20, 40});
}

TEST_CASE("what never ends lasts to the end of the trace, and what never began is nothing") {
  const auto ranges = ranges_of({event(5, 1, What::kPop), event(10, 1, What::kPush, 1),
                                 event(20, 1, What::kStart, 2, 3), event(30, 1, What::kMark, 4)});
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].open);
  CHECK(ranges[0].span == TimeSpan{10, 1'000});
  CHECK(ranges[1].open);
}

}  // namespace synctrace::testing
