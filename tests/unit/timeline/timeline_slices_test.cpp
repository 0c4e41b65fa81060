// SPDX-License-Identifier: Apache-2.0
// The timeline shows what the tables say: on each stored trace, slices of idle time add up to the causes of each row.
#include "timeline/page/timeline_slices.h"
#include "attribution/attribute.h"

#include <map>
#include <vector>

#include "findings/build_report.h"
#include "support/catch.h"
#include "support/golden_traces.h"

namespace synctrace::page {

TEST_CASE("each lane has the slices that it announces, in order, and idle time is that of the causes") {
  for (const testing::GoldenTrace& golden : testing::golden_traces(SYNCTRACE_GOLDEN_FOLDER)) {
    CAPTURE(golden.path.string());
    const Trace trace = testing::load_golden(golden);
    AttributeOptions options;
    options.keep_parts = true;
    const Attribution attribution = attribute(trace, options);
    const Report report = build_report(trace, attribution, {});
    const TimelineSlices slices(trace, attribution, report);
    std::vector<std::uint64_t> counts(slices.lanes().size());
    std::vector<Nanoseconds> begins(slices.lanes().size());
    std::map<SliceName, Nanoseconds> idle;
    int out_of_order = 0;
    slices.for_each([&](std::size_t lane, const Slice& slice) {
      ++counts.at(lane);
      if (slice.span.begin_ns < begins[lane]) ++out_of_order;
      begins[lane] = slice.span.begin_ns;
      if (slices.lanes()[lane].kind == LaneKind::kIdle) idle[slice.name] += slice.span.length_ns();
    });
    CHECK(out_of_order == 0);
    for (std::size_t lane = 0; lane < counts.size(); ++lane) {
      // Parts of one cause that follow each other are one slice.
      const Lane& announced = slices.lanes()[lane];
      CHECK(counts[lane] <= announced.slices);
      if (announced.kind != LaneKind::kIdle) CHECK(counts[lane] == announced.slices);
    }
    std::map<SliceName, Nanoseconds> expected;
    for (std::size_t place = 0; place < report.devices.size(); ++place) {
      const DeviceReport& device = report.devices[place];
      for (std::size_t row = 0; row < device.causes.size(); ++row)
        expected[slice_name(SliceKind::kIdle, cause_number(place, row))] = device.causes[row].idle_ns;
      for (std::size_t row = 0; row < device.copy_causes.size(); ++row)
        expected[slice_name(SliceKind::kOnlyCopying, cause_number(place, row))] = device.copy_causes[row].idle_ns;
    }
    CHECK(idle == expected);
  }
}

}  // namespace synctrace::page
