// SPDX-License-Identifier: Apache-2.0
// A replay without any fix gives the recorded times again, to the nanosecond: of random programs of the generator, and
// of every trace of the golden folders, real ones included.
#include "support/catch.h"
#include "support/effort.h"
#include "support/generated_support.h"
#include "support/generator/random_program.h"
#include "support/golden_traces.h"
#include "support/replay_support.h"

namespace synctrace::testing::replay_test {
namespace {

constexpr std::uint64_t kPrograms = effort(2'000);

}  // namespace

TEST_CASE("an unchanged replay of random programs gives every recorded time") {
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    CAPTURE(seed);
    const generator::Program program = generator::random_program(seed);
    const generator::Run run = generator::play(program, seed);
    generator::Recording recording;
    recording.samples =
        seed % 2 == 0 ? generator::Recording::Samples::kDense : generator::Recording::Samples::kPeriodic;
    recording.wakers = seed % 3 != 0;
    const Trace trace = generator::load_generated(program, run, recording);
    REQUIRE(replay_difference(generator::explain_generated(trace)) == "");
  }
}

TEST_CASE("an unchanged replay of every golden trace gives every recorded time") {
  const std::vector<GoldenTrace> traces = golden_traces(SYNCTRACE_GOLDEN_FOLDER);
  REQUIRE(traces.size() >= 10);
  for (const GoldenTrace& golden : traces) {
    CAPTURE(golden.name);
    const Trace trace = load_golden(golden);
    CHECK(replay_difference(attribute(trace)) == "");
  }
}

}  // namespace synctrace::testing::replay_test
