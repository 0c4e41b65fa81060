// SPDX-License-Identifier: Apache-2.0
// Which line what slow steps do more is said to be at, where no stack shows it in all of them.
#include "findings/slow_step_lines.h"

#include <vector>

#include "attribution/attribute.h"
#include "support/catch.h"
#include "support/program_by_hand.h"

namespace synctrace::testing {
namespace {

constexpr Nanoseconds kMs = 1'000'000;

// Each step reads a number in line 40 of step() and begins the next one in line 37, called by own_step() in line 20.
const std::vector<Place> kRead = {{"loop", 9}, {"own_step", 20}, {"step", 40}};
const std::vector<Place> kNext = {{"loop", 9}, {"own_step", 20}, {"step", 37}};

Cause cause(CauseKind kind, StackId stack, StackId until, Nanoseconds steady_ns, Nanoseconds irregular_ns) {
  Cause cause;
  cause.key.kind = kind;
  cause.key.site.stack = stack;
  cause.key.site.until = until;
  cause.idle_ns = steady_ns + irregular_ns;
  cause.steady_ns = steady_ns;
  cause.irregular_ns = irregular_ns;
  cause.by_confidence[static_cast<std::size_t>(Confidence::kHigh)] = cause.idle_ns;
  return cause;
}

// The lines of two steps of 60 ms among 98 of 10: 80 ms from the read to `until`, and 20 ms of `other` at these places.
std::vector<std::uint32_t> lines_of(const std::vector<Place>& until, CauseKind kind, const std::vector<Place>& other) {
  Program program;
  Attribution attribution;
  attribution.causes[DeviceId{0}] = {
      cause(CauseKind::kHostCompute, program.at(kRead), program.at(until), 98 * kMs, 82 * kMs),
      cause(kind, program.at(other), {}, 0, 20 * kMs)};
  Report report;
  report.steps.name = "loop";
  report.steps.figures.count = 100;
  report.steps.figures.irregular = 2;
  report.steps.ordinary_ns = 980 * kMs;
  report.steps.irregular_ns = 120 * kMs;
  StackPlaces places(program.trace(), UserCode(""));
  std::vector<std::uint32_t> lines;
  for (const SlowStepCause& one : find_slow_steps(attribution, places, report).causes) lines.push_back(one.where.line);
  return lines;
}

using Lines = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("host code of slow steps is at the line between two others of which a sample of one shows it") {
  const auto lines = [](const std::vector<Place>& sampled) {
    return lines_of(kNext, CauseKind::kHostCompute, sampled);
  };
  CHECK(lines({{"loop", 9}, {"own_step", 22}}) == Lines{22});        // behind the call that reads
  CHECK(lines({{"loop", 9}, {"own_step", 18}}) == Lines{18});        // before that which begins
  CHECK(lines({{"loop", 9}, {"other_step", 22}}) == Lines{40, 22});  // nothing tells its order
  CHECK(lines({{"set_up", 3}, {"load", 22}}) == Lines{40, 22});      // outside of the loop
}

TEST_CASE("host code of slow steps before a line that they alone come to is that line's") {
  const std::vector<Place> saves = {{"loop", 9}, {"own_step", 30}};
  CHECK(lines_of(saves, CauseKind::kPageableCopy, saves) == Lines{30});
  CHECK(lines_of(kNext, CauseKind::kPageableCopy, saves) == Lines{40, 30});
}

}  // namespace synctrace::testing
