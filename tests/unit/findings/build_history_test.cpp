// SPDX-License-Identifier: Apache-2.0
// What of a recording's idle time is uncertain.
#include "findings/history/build_history.h"

#include "findings/build_report.h"
#include "support/catch.h"
#include "support/trace_maker.h"

namespace synctrace::testing {

TEST_CASE("of idle time it is counted what is uncertain, of time in copies not") {
  TraceMaker maker;
  maker.add_window(0, 1'000'000);
  maker.add_stream(kStream, format::Stream::kNonBlocking);
  maker.add_kernel({10'000, 110'000}, kStream, 5'000, 1);
  maker.add_kernel({410'000, 510'000}, kStream, 405'000, 2);
  const Trace trace = maker.load();
  AttributeOptions options;
  options.keep_parts = true;
  Attribution attribution = attribute(trace, options);
  const Report report = build_report(trace, attribution, {});
  const auto sum = [&](Confidence confidence, bool copying) {
    for (Part& part : attribution.parts.at(DeviceId{})) {
      part.confidence = confidence;
      part.copying = copying;
    }
    SiteFigures all;
    for (const HistorySite& site : draft_history(trace, attribution, report, {}, {}).finish().sites)
      all.add(site.figures);
    return all;
  };
  CHECK(sum(Confidence::kLow, false).idle_ns == 800'000);
  CHECK(sum(Confidence::kLow, false).uncertain_ns == 800'000);
  CHECK(sum(Confidence::kMedium, false).uncertain_ns == 0);
  CHECK(sum(Confidence::kLow, true).copying_ns == 800'000);
  CHECK(sum(Confidence::kLow, true).uncertain_ns == 0);
}

}  // namespace synctrace::testing
