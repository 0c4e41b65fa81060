// SPDX-License-Identifier: Apache-2.0
// Which steps a gate counts by: those that are given always, those that were found only where they are sure.
#include "findings/calls/wait_sites.h"

#include "support/catch.h"
#include "support/trace_maker.h"

namespace synctrace::testing::wait_sites_test {
namespace {

// A GPU that computes for 100 us, idles for 300, computes for 100 again; its second half is a step.
class Program {
 public:
  Program() {
    maker_.add_window(0, 1'000'000);
    maker_.add_stream(kStream, format::Stream::kNonBlocking);
    maker_.add_kernel({10'000, 110'000}, kStream, 5'000, 1);
    maker_.add_kernel({410'000, 510'000}, kStream, 405'000, 2);
  }

  WaitSites found(StepSource source, StepConfidence confidence, bool guessed_steps = false) {
    const Trace trace = maker_.load();
    Attribution attribution = attribute(trace);
    attribution.steps.source = source;
    attribution.steps.confidence = confidence;
    attribution.steps.doubt = confidence == StepConfidence::kHigh ? "" : "only 4 were seen";
    attribution.steps.steps = {{{300'000, 510'000}, 510'000, 310'000, 200'000}};
    WaitSitesOptions options;
    options.guessed_steps = guessed_steps;
    return find_wait_sites(trace, attribution, {}, options);
  }

 private:
  TraceMaker maker_;
};

}  // namespace

TEST_CASE("steps that were found count where they are sure, whatever shows them") {
  Program program;
  for (const StepSource source : {StepSource::kLoop, StepSource::kPeriodicity}) {
    const WaitSites sure = program.found(source, StepConfidence::kHigh);
    CHECK(sure.steps.size() == 1);
    CHECK(sure.step_source == step_source_name(source));
    CHECK(sure.doubted_steps.empty());
    for (const StepConfidence confidence : {StepConfidence::kMedium, StepConfidence::kLow}) {
      const WaitSites guessed = program.found(source, confidence);
      CHECK(guessed.steps.empty());
      CHECK(guessed.step_source == "none");
      CHECK(guessed.doubted_steps == "only 4 were seen");
      const WaitSites compared = program.found(source, confidence, true);
      CHECK(compared.steps.size() == 1);
      CHECK(compared.doubted_steps == "only 4 were seen");
      CHECK(compared.idle.front().of_ns == 200'000);
    }
  }
}

TEST_CASE("steps that were given count, however few they are") {
  Program program;
  for (const StepSource source : {StepSource::kNvtx, StepSource::kProfilerStep, StepSource::kLine})
    CHECK(program.found(source, StepConfidence::kLow).steps.size() == 1);
}

TEST_CASE("idle time is that of the steps only where these count") {
  Program program;
  const WaitSites sure = program.found(StepSource::kLoop, StepConfidence::kHigh);
  REQUIRE(sure.idle.size() == 1);
  CHECK(sure.idle.front().of_ns == 200'000);
  const WaitSites guessed = program.found(StepSource::kLoop, StepConfidence::kLow);
  CHECK(guessed.idle.front().of_ns == 500'000);
  CHECK(guessed.idle.front().idle_ns == 300'000);
}

}  // namespace synctrace::testing::wait_sites_test
