// SPDX-License-Identifier: Apache-2.0
// How often a zone was entered, and left.
#include "findings/calls/surroundings.h"

#include "support/catch.h"

namespace synctrace {

TEST_CASE("a zone is counted each time it is entered, with those that never end") {
  Trace trace;
  trace.nvtx_domains[NvtxDomainId{1}] = kAnnotationDomain;
  trace.strings[StringId{1}] = "expect-no-sync:forward";
  trace.last_ns = 100;
  const auto add = [&](Nanoseconds time_ns, NvtxEvent::What what) {
    NvtxEvent& event = trace.nvtx_events.emplace_back();
    event.time_ns = time_ns;
    event.domain = NvtxDomainId{1};
    event.text = StringId{1};
    event.what = what;
  };
  for (const Nanoseconds begin_ns : {10, 20, 30}) {
    add(begin_ns, NvtxEvent::What::kPush);
    if (begin_ns < 30) add(begin_ns + 5, NvtxEvent::What::kPop);
  }
  const Surroundings surroundings(trace, {});
  REQUIRE(surroundings.zones().size() == 1);
  CHECK(surroundings.zones()[0].name == "forward");
  CHECK(surroundings.zones()[0].count == 3);
  CHECK(surroundings.zones()[0].open == 1);
}

}  // namespace synctrace
