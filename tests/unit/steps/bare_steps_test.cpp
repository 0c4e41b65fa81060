// SPDX-License-Identifier: Apache-2.0
// Recordings of real programs on a GPU whose steps are annotated, without the annotation: the same steps are found.
#include "steps/step_candidates.h"
#include "support/catch.h"
#include "support/golden_traces.h"

namespace synctrace::testing {
namespace {

// 200 launches of one kernel in a step, and nothing else: nothing in what is issued tells where a step ends.
bool shows_no_steps(const GoldenTrace& golden) { return golden.name == "tiny_kernels"; }

std::size_t difference(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

}  // namespace

TEST_CASE("the steps of recorded programs are found without their annotation") {
  std::size_t programs = 0;
  for (const GoldenTrace& golden : golden_traces(SYNCTRACE_GOLDEN_FOLDER)) {
    if (shows_no_steps(golden)) continue;
    Trace trace = load_golden(golden);
    const Correlation correlation(trace);
    const Steps annotated = steps_by_ranges(trace, correlation, {});
    if (annotated.steps.empty()) continue;
    INFO(golden.path.string());
    trace.nvtx_events.clear();
    const Steps found = find_steps(trace, correlation).chosen;
    CHECK(difference(found.steps.size(), annotated.steps.size()) <= 2);
    CHECK(found.micro_steps == 1);
    ++programs;
  }
  CHECK(programs >= (is_whole_effort() ? 30 : 6));
}

}  // namespace synctrace::testing
