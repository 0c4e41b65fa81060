// SPDX-License-Identifier: Apache-2.0
// Which processes share an axis.
#include "render/page/axes.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::page {
namespace {

constexpr Nanoseconds kStart = 1'700'000'000'000'000'000;
constexpr Nanoseconds kSecond = 1'000'000'000;

TraceClock clock(const std::string& host, Nanoseconds begin_s, Nanoseconds end_s, Nanoseconds started_ns = kStart) {
  return {host, started_ns, {begin_s * kSecond, end_s * kSecond}};
}

// "0+1 2": processes of one axis joined by a plus.
std::string told(const std::vector<TraceClock>& clocks) {
  std::string text;
  for (const Axis& axis : axes_of(clocks)) {
    if (!text.empty()) text += ' ';
    for (std::size_t i = 0; i < axis.processes.size(); ++i)
      text += (i > 0 ? "+" : "") + std::to_string(axis.processes[i]);
  }
  return text;
}

}  // namespace

TEST_CASE("processes share an axis where they counted from one start and ran at once") {
  CHECK(told({clock("a", 0, 10), clock("a", 5, 15)}) == "0+1");
  CHECK(told({clock("a", 0, 10), clock("a", 5, 15, kStart + kSecond / 2)}) == "0+1");  // the wall clock was set right
  CHECK(told({clock("a", 0, 10), clock("a", 5, 15, kStart + 60 * kSecond)}) == "0 1");
  CHECK(told({clock("a", 0, 10), clock("b", 5, 15)}) == "0 1");
  CHECK(told({clock("", 0, 10), clock("", 5, 15)}) == "0 1");
  CHECK(told({clock("a", 0, 10), clock("a", 11, 15)}) == "0 1");
  CHECK(told({{"a", std::nullopt, {0, 10}}, {"a", std::nullopt, {0, 10}}}) == "0 1");
}

TEST_CASE("a process that ran beside two others joins them") {
  CHECK(told({clock("a", 0, 10), clock("a", 20, 30), clock("b", 0, 30), clock("a", 5, 25)}) == "0+1+3 2");
}

TEST_CASE("an axis begins with the first of its processes") {
  const std::vector<TraceClock> clocks = {clock("a", 7, 10), clock("b", 0, 10), clock("a", 5, 15)};
  const std::vector<Axis> axes = axes_of(clocks);
  REQUIRE(axes.size() == 2);
  CHECK(axes[0].offsets_ns == std::vector<Nanoseconds>{2 * kSecond, 0});
  CHECK(axes[1].offsets_ns == std::vector<Nanoseconds>{0});
}

TEST_CASE("ranks whose clocks were compared share an axis, wherever they ran") {
  std::vector<TraceClock> clocks = {clock("a", 100, 110), clock("b", 5, 15), clock("c", 0, 10)};
  clocks[0].on_job = RankClock{true, 0, 0, 100 * kSecond, 0};
  clocks[1].on_job = RankClock{true, -96.0 * kSecond, 1e-5, 5 * kSecond, 700};
  const std::vector<Axis> axes = axes_of(clocks);
  REQUIRE(axes.size() == 2);
  CHECK(axes[0].processes == std::vector<std::size_t>{0, 1});
  CHECK(axes[0].offsets_ns == std::vector<Nanoseconds>{0, kSecond});
  CHECK(axes[0].rates == std::vector<double>{1, 1 - 1e-5});
  CHECK(axes[0].note ==
        "One axis: the clocks of these 2 ranks are aligned by what they did together, to within 700 ns.");
  CHECK(axes[1].note ==
        "It did too little with the other ranks to compare its clock with theirs, so it has an axis of its own.");
}

TEST_CASE("a single process has nothing to explain, several have") {
  const std::vector<TraceClock> one = {clock("a", 0, 1)};
  CHECK(axes_of(one).at(0).note.empty());
  const std::vector<TraceClock> clocks = {clock("a", 0, 10), clock("b", 0, 10), clock("", 0, 10), clock("a", 20, 30)};
  std::vector<std::string> notes;
  for (const Axis& axis : axes_of(clocks)) notes.push_back(axis.note);
  CHECK(notes == std::vector<std::string>{
                     "", "It ran on another host (b), whose clock cannot be compared, so it has an axis of its own.",
                     "On which host it ran is not known, so it has an axis of its own.",
                     "It was recorded at another time, so it has an axis of its own."});
}

}  // namespace synctrace::page
