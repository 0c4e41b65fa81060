// SPDX-License-Identifier: Apache-2.0
// JSON of the tables beside causes and waits: rates of copies, and means of kernels.
#include <string>

#include "render/json_parts.h"
#include "support/catch.h"

namespace synctrace::testing::render_json_tables_test {
namespace {

std::string rate_of(std::uint64_t bytes, Nanoseconds device_ns, Nanoseconds host_ns) {
  CallSite row;
  row.calls.resize(1);
  row.figures.bytes = bytes;
  row.figures.device_ns = device_ns;
  row.figures.host_ns = host_ns;
  return json::pageable_copy_json(row)["bytes_per_second"].dump();
}

}  // namespace

TEST_CASE("copies have a rate by their transfers, else by the host's time, and none where nothing was timed") {
  CHECK(rate_of(3'000, 1'000, 2'000) == "3000000000");
  CHECK(rate_of(3'000, 0, 2'000) == "1500000000");
  CHECK(rate_of(3'000, 1, 2'000) == "3000000000000");
  CHECK(rate_of(0, 1'000, 2'000) == "0");
  CHECK(rate_of(0, 0, 0) == "null");
  CHECK(rate_of(3'000, 0, 0) == "null");
  CHECK(rate_of(3'000, 0, -5) == "null");
}

TEST_CASE("a rate that no machine has is none") {
  CHECK(rate_of(1'000'000'000, 1, 0) == "1000000000000000000");
  CHECK(rate_of(1'000'000'001, 1, 0) == "null");
}

TEST_CASE("a family of kernels has their mean time") {
  KernelFamily family;
  family.count = 4;
  family.device_ns = 1'000;
  CHECK(json::kernel_family_json(family)["mean_ns"].dump() == "250");
}

TEST_CASE("a line of a helper is there only where there is one") {
  SourceLine where;
  CHECK(json::through_json(where).dump() == "null");
  where.through.file = "helpers.py";
  where.through.line = 7;
  CHECK(json::through_json(where)["line"].dump() == "7");
}

}  // namespace synctrace::testing::render_json_tables_test
