// SPDX-License-Identifier: Apache-2.0
#include "names/guarded_probe.h"

#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>

#include "support/catch.h"

namespace synctrace {
namespace {

using End = ProbeAnswer::End;

constexpr int kPatienceMs = 60'000;  // for probes that end by themselves

TEST_CASE("an answer comes back whole, whatever its length") {
  const std::string long_text(300'000, 'x');  // more than a pipe holds
  for (const std::string& text : {std::string(), std::string("one\ntwo\n"), long_text}) {
    const ProbeAnswer answer = run_guarded([&] { return text; }, kPatienceMs);
    CHECK(answer.end == End::kAnswered);
    CHECK(answer.text == text);
  }
}

TEST_CASE("a probe that crashes, exits or throws has not answered") {
  CHECK(run_guarded([]() -> std::string { return std::raise(SIGSEGV), "after"; }, kPatienceMs).end == End::kCrashed);
  CHECK(run_guarded([]() -> std::string { _exit(0); }, kPatienceMs).end == End::kCrashed);
  CHECK(run_guarded([]() -> std::string { throw std::runtime_error("no"); }, kPatienceMs).end == End::kCrashed);
}

TEST_CASE("a probe that hangs is ended, with what it has started") {
  const auto hang = []() -> std::string {
    if (fork() == 0) {
      for (;;) pause();  // holds the pipe as a stuck command of a probe would
    }
    for (;;) pause();
  };
  CHECK(run_guarded(hang, 50).end == End::kTimedOut);
}

}  // namespace
}  // namespace synctrace
