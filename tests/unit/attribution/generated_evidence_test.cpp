// SPDX-License-Identifier: Apache-2.0
// What less evidence may change: taking samples, wakers or sleeps away makes an explanation less sure, or leaves it
// alone. What is still sure is what it was. And all times stretched alike give the same explanation.
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/effort.h"
#include "support/generated_support.h"
#include "support/generator/accuracy.h"
#include "support/generator/random_program.h"

namespace synctrace::testing::generator::generated_evidence_test {
namespace {

constexpr std::uint64_t kPrograms = effort(2'000);

StackId stack_of(const Trace& trace, const Attribution& attribution, Owner owner) {
  if (owner.table == OwnerTable::kStretch) return attribution.stretches[owner.row].before;
  return generator::stack_of(trace, owner);
}

struct Explained {
  explicit Explained(Trace of) : trace(std::move(of)), attribution(explain_generated(trace)) {}
  StackId place(const Part& part) const { return stack_of(trace, attribution, part.owner); }
  Trace trace;
  Attribution attribution;
};

// Visits each stretch of time that has one part in both.
template <class Visit>
void for_common_parts(const Explained& a, const Explained& b, Visit&& visit) {
  for (const auto& [device, parts] : a.attribution.parts) {
    const std::vector<Part>& others = b.attribution.parts.at(device);
    auto other = others.begin();
    for (const Part& part : parts) {
      while (other != others.end() && other->span.end_ns <= part.span.begin_ns) ++other;
      for (auto next = other; next != others.end() && next->span.begin_ns < part.span.end_ns; ++next) {
        visit(part, *next, intersect(part.span, next->span).length_ns());
      }
    }
  }
}

// How sure the explanation of random programs is with everything recorded, and with less; and what became another
// cause.
struct Withdrawn {
  std::array<std::array<Nanoseconds, kConfidences>, kConfidences> ns{};  // [with all][with less]
  std::map<std::string, Nanoseconds> grown;
  std::map<std::string, Nanoseconds> sure_and_other;  // high confidence with less
  std::map<std::string, Nanoseconds> renamed;         // medium or high confidence with less

  void compare(const Explained& whole, const Explained& less) {
    for_common_parts(whole, less, [&](const Part& with, const Part& without, Nanoseconds length_ns) {
      ns[static_cast<std::size_t>(with.confidence)][static_cast<std::size_t>(without.confidence)] += length_ns;
      const std::string words = std::string(cause_name(with.kind)) + " -> " + std::string(cause_name(without.kind));
      const bool same = with.kind == without.kind && whole.place(with) == less.place(without);
      if (without.confidence > with.confidence) grown[words] += length_ns;
      if (without.confidence == Confidence::kHigh && !same) sure_and_other[words] += length_ns;
      if (without.confidence > Confidence::kLow && with.kind != without.kind) renamed[words] += length_ns;
    });
  }
  Nanoseconds fallen_ns() const { return ns[1][0] + ns[2][0] + ns[2][1]; }
};

Withdrawn over_programs(const Recording& poorer) {
  Withdrawn all;
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    const Program program = random_program(seed + 500'000);
    const Run run = play(program, seed);
    all.compare(Explained(load_generated(program, run)), Explained(load_generated(program, run, poorer)));
  }
  return all;
}

constexpr Nanoseconds longer(Nanoseconds t) { return t / 5 * 6; }

// Every time of a trace, a fifth longer. By much more, what the recorder and the analysis know in absolute terms (a run
// of launches has pauses below 50 us) would rightly tell the two apart.
void stretch(Trace& trace) {
  const auto rows = [](auto& table) {
    for (auto& row : table) row.span = {longer(row.span.begin_ns), longer(row.span.end_ns)};
  };
  rows(trace.calls);
  rows(trace.launches);
  rows(trace.polls);
  rows(trace.operations);
  rows(trace.samples);
  rows(trace.host_waits);
  rows(trace.windows);
  for (HostWait& wait : trace.host_waits) wait.wake_ns = longer(wait.wake_ns);
  for (NvtxEvent& event : trace.nvtx_events) event.time_ns = longer(event.time_ns);
  trace.first_ns = longer(trace.first_ns);
  trace.last_ns = longer(trace.last_ns);
}

// All times multiples of 5 ns.
Program coarse(Program program) {
  program.machine.jitter_percent = 0;
  for (std::vector<Action>& actions : program.threads) {
    for (Action& action : actions) {
      action.ns -= action.ns % 5;
      action.gpu_ns -= action.gpu_ns % 5;
    }
  }
  return program;
}

}  // namespace

TEST_CASE("without samples nothing becomes surer, and only host time loses its name") {
  Recording blind;
  blind.samples = Recording::Samples::kNone;
  const Withdrawn moved = over_programs(blind);
  CHECK(moved.grown == std::map<std::string, Nanoseconds>{});
  CHECK(moved.sure_and_other == std::map<std::string, Nanoseconds>{});
  for (const auto& [words, ns] : moved.renamed) {
    CAPTURE(words, ns);
    CHECK((words == "python-gc -> host-compute" || words == "loader-compute -> host-compute"));
  }
}

TEST_CASE(
    "without wakers nothing becomes surer, what followed one is a guess, and no cause gets another name unless it is "
    "one") {
  Recording unwoken;
  unwoken.wakers = false;
  const Withdrawn moved = over_programs(unwoken);
  CHECK(moved.grown == std::map<std::string, Nanoseconds>{});
  CHECK(moved.renamed == std::map<std::string, Nanoseconds>{});
  CHECK(moved.fallen_ns() > 0);
  CHECK(moved.ns[2][0] > 0);
}

// That a thread slept, nobody can know then: what it might have done, it is said to have done. So only this much holds.
TEST_CASE("without the sleeps of threads nothing becomes surer, and what is sure is hardly ever something else") {
  Recording restless;
  restless.host_waits = false;
  const Withdrawn moved = over_programs(restless);
  CHECK(moved.grown == std::map<std::string, Nanoseconds>{});
  Nanoseconds other_ns = 0;
  for (const auto& [words, ns] : moved.sure_and_other) other_ns += ns;
  CAPTURE(other_ns, moved.ns[2][2]);
  CHECK(other_ns * 100 <= moved.ns[2][2]);
}

TEST_CASE("all times stretched alike give the same causes, places and shares") {
  std::uint64_t different = 0;
  Nanoseconds different_ns = 0;
  Nanoseconds all_ns = 0;
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    CAPTURE(seed);
    const Program program = coarse(random_program(seed + 600'000));
    const Run run = play(program, seed);
    Explained plain(load_generated(program, run));
    Trace trace = load_generated(program, run);
    stretch(trace);
    const Explained stretched(std::move(trace));
    for (auto& [device, parts] : plain.attribution.parts) {
      for (Part& part : parts) part.span = {longer(part.span.begin_ns), longer(part.span.end_ns)};
    }
    Nanoseconds here_ns = 0;
    for_common_parts(plain, stretched, [&](const Part& a, const Part& b, Nanoseconds length_ns) {
      all_ns += length_ns;
      const bool same =
          a.kind == b.kind && a.activity_kind == b.activity_kind && a.owner == b.owner && a.confidence == b.confidence;
      if (!same) here_ns += length_ns;
    });
    different += here_ns > 0 ? 1 : 0;
    different_ns += here_ns;
  }
  CAPTURE(different, different_ns, all_ns);
  // Ten of two thousand programs hold a wait or a pause that crosses a margin of the analysis: those are in us, not in
  // shares.
  CHECK(different * 100 <= kPrograms);
  CHECK(different_ns * 10'000 <= all_ns);
}

}  // namespace synctrace::testing::generator::generated_evidence_test
