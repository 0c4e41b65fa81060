// SPDX-License-Identifier: Apache-2.0
// Answers that several recordings give together: which process lacks work most, and what costs what by stack.
#include "recordings/answers.h"

#include <cstddef>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/trace_builder.h"

namespace synctrace::testing::answers_test {
namespace {

struct Time {
  Nanoseconds lacked_ns = 0;
  Nanoseconds of_ns = 0;
};

// Its place among them.
std::size_t most_lacking_of(const std::vector<Time>& times) {
  std::vector<Report> reports(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    reports[i].verdict.lacked_ns = times[i].lacked_ns;
    reports[i].verdict.of_ns = times[i].of_ns;
  }
  return static_cast<std::size_t>(&most_lacking(reports) - reports.data());
}

}  // namespace

TEST_CASE("the process that lacks work most is the one with the largest share of its time, not the longest time") {
  CHECK(most_lacking_of({{50, 100}, {90, 1'000}, {40, 50}}) == 2);
  CHECK(most_lacking_of({{50, 100}, {90, 1'000}, {10, 50}}) == 0);
  CHECK(most_lacking_of({{10, 20}, {50, 100}}) == 0);
}

TEST_CASE("a process of which no time is known lacks nothing") {
  CHECK(most_lacking_of({{0, 0}, {50, 100}}) == 1);
  CHECK(most_lacking_of({{50, 0}, {50, 100}}) == 1);
  CHECK(most_lacking_of({{-60, -5}, {50, 100}}) == 1);
  CHECK(most_lacking_of({{0, 0}}) == 0);
}

TEST_CASE("stacks are told of each file that can be read, by its rank or its process") {
  const TemporaryFolder folder;
  TraceBuilder ranked;
  ranked.schemas().add(format::Fact{"rank", "3"});
  TraceBuilder alone;
  alone.schemas();
  Recordings recordings({folder.write("a.synctrace", ranked.bytes()), folder.path("none.synctrace"),
                         folder.write("b.synctrace", alone.bytes())},
                        {});
  std::vector<std::string> names;
  for (const StackProfile& profile : stack_profiles(recordings, recordings.all())) names.push_back(profile.name());
  CHECK(names == std::vector<std::string>{"rank 3", "process 42"});
  CHECK(recordings.unreadable() == 1);
}

}  // namespace synctrace::testing::answers_test
