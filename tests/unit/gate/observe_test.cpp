// SPDX-License-Identifier: Apache-2.0
// Who allows a call: a range around it, an entry of the configuration, and in a zone nobody from outside.
#include "gate/observe.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace synctrace::observe_test {
namespace {

constexpr std::string_view kRange = "allow:ST001;reason=printed";

WaitSites one_wait(Surrounding around) {
  WaitSites found;
  found.surroundings = {std::move(around)};
  found.stacks.resize(1);
  WaitGroup group;
  group.function = "cudaStreamSynchronize";
  group.steps = {{kOutsideSteps, 1, {.calls = 1, .waited = 1}}};
  found.sites = {{&kStreamSyncRule, {}, {group}}};
  return found;
}

// The reason for which the call is allowed; empty: it is not.
std::string allowed(Surrounding around, std::vector<AllowEntry> entries = {}) {
  AllowBook book(std::move(entries), {2026, 1, 1});
  const Observation seen = observe(one_wait(std::move(around)), {}, Repository("/"), book);
  REQUIRE(seen.sites.size() == 1);
  REQUIRE(seen.sites[0].allowed.size() == 1);
  const std::size_t entry = seen.sites[0].allowed[0];
  return entry == kNotAllowed ? "" : book.entries().at(entry).reason;
}

AllowEntry entry() {
  AllowEntry entry;
  entry.rules = {"ST001"};
  entry.reason = "configured";
  return entry;
}

}  // namespace

TEST_CASE("a range allows what is inside of it, before any entry does") {
  const Surrounding range{{std::string(kRange)}, false, {}, {}};
  CHECK(allowed({}).empty());
  CHECK(allowed(range) == "printed");
  CHECK(allowed({}, {entry()}) == "configured");
  CHECK(allowed(range, {entry()}) == "printed");
}

TEST_CASE("in a zone only a range inside of it allows") {
  CHECK(allowed({{}, true, "forward", {}}, {entry()}).empty());
  CHECK(allowed({{std::string(kRange)}, true, "forward", {}}, {entry()}) == "printed");
}

}  // namespace synctrace::observe_test
