// SPDX-License-Identifier: Apache-2.0
// What must hold for any program: explanations do not depend on names of threads and streams, on when the clock began,
// or on work that changes nothing; and they always add up. Random programs of the generator.
#include <algorithm>
#include <map>
#include <tuple>

#include "support/catch.h"
#include "support/effort.h"
#include "support/generated_support.h"
#include "support/generator/random_program.h"

namespace synctrace::testing::generator::generated_properties_test {
namespace {

constexpr std::uint64_t kPrograms = effort(2'000);

using Explained = std::vector<
    std::tuple<DeviceId, Nanoseconds, Nanoseconds, CauseKind, CauseKind, OwnerTable, std::uint32_t, bool, Confidence>>;

// Everything that an explanation says, times relative to `origin_ns`.
Explained explained(const Attribution& attribution, Nanoseconds origin_ns) {
  Explained all;
  for (const auto& [device, parts] : attribution.parts) {
    for (const Part& part : parts) {
      all.emplace_back(device, part.span.begin_ns - origin_ns, part.span.end_ns - origin_ns, part.kind,
                       part.activity_kind, part.owner.table, part.owner.row, part.drained, part.confidence);
    }
  }
  return all;
}

// Idle time by cause and place.
std::map<std::tuple<DeviceId, CauseKind, StackId, bool>, Nanoseconds> totals(const Attribution& attribution) {
  std::map<std::tuple<DeviceId, CauseKind, StackId, bool>, Nanoseconds> sums;
  for (const auto& [device, causes] : attribution.causes) {
    for (const Cause& cause : causes) {
      if (cause.key.kind == CauseKind::kDispatch) continue;
      sums[{device, cause.key.kind, cause.key.site.stack, cause.key.copying}] += cause.idle_ns;
    }
  }
  return sums;
}

void sort_by_begin(std::vector<Operation>& operations) {
  std::stable_sort(operations.begin(), operations.end(),
                   [](const Operation& a, const Operation& b) { return a.span.begin_ns < b.span.begin_ns; });
}

template <class Check>
void for_random_programs(Check&& check) {
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    CAPTURE(seed);
    const Program program = random_program(seed + 100'000);
    check(program, play(program, seed));
  }
}

}  // namespace

TEST_CASE("names of threads, contexts and streams, and the begin of time, change nothing") {
  for_random_programs([](const Program& program, const Run& run) {
    const Explained plain = explained(explain_generated(load_generated(program, run)), 0);
    Recording other;
    other.rename = 4'000;
    other.shift_ns = 77'000'000'000;
    const Explained moved = explained(explain_generated(load_generated(program, run, other)), other.shift_ns);
    REQUIRE(plain == moved);
  });
}

TEST_CASE("a kernel recorded as two halves leaves all causes as they were") {
  for_random_programs([](const Program& program, const Run& run) {
    Trace trace = load_generated(program, run);
    const auto before = totals(explain_generated(trace));
    std::vector<Operation> halves;
    for (const Operation& operation : trace.operations) {
      halves.push_back(operation);
      if (operation.kind != OperationKind::kKernel || operation.span.length_ns() < 2) continue;
      const Nanoseconds middle_ns = operation.span.begin_ns + operation.span.length_ns() / 2;
      halves.back().span.end_ns = middle_ns;
      halves.push_back(operation);
      halves.back().span.begin_ns = middle_ns;
    }
    sort_by_begin(halves);
    trace.operations = std::move(halves);
    REQUIRE(totals(explain_generated(trace)) == before);
  });
}

TEST_CASE("work inside busy time changes no cause") {
  for_random_programs([](const Program& program, const Run& run) {
    Trace trace = load_generated(program, run);
    const auto before = totals(explain_generated(trace));
    std::vector<Operation> more = trace.operations;
    for (const Operation& operation : trace.operations) {
      if (operation.kind != OperationKind::kKernel || operation.span.length_ns() < 10) continue;
      Operation inner = operation;
      inner.span.begin_ns += 3;
      more.push_back(inner);
    }
    sort_by_begin(more);
    trace.operations = std::move(more);
    const auto after = totals(explain_generated(trace));
    Nanoseconds difference = 0;
    for (const auto& [key, ns] : before) difference += std::abs(ns - (after.contains(key) ? after.at(key) : 0));
    REQUIRE(difference == 0);
  });
}

TEST_CASE("without samples nothing is explained by another named cause than host time") {
  for_random_programs([](const Program& program, const Run& run) {
    Recording blind;
    blind.samples = Recording::Samples::kNone;
    const Attribution with = explain_generated(load_generated(program, run));
    const Attribution without = explain_generated(load_generated(program, run, blind));
    const auto sum_of = [](const Attribution& attribution, CauseKind kind) {
      Nanoseconds sum = 0;
      for (const auto& [device, causes] : attribution.causes) {
        for (const Cause& cause : causes) sum += cause.key.kind == kind ? cause.idle_ns : 0;
      }
      return sum;
    };
    for (const CauseKind kind :
         {CauseKind::kEventSync, CauseKind::kPolling, CauseKind::kModuleLoad, CauseKind::kLatency, CauseKind::kDispatch,
          CauseKind::kStreamDependency, CauseKind::kCopyDependency}) {
      CAPTURE(cause_name(kind));
      REQUIRE(sum_of(with, kind) == sum_of(without, kind));
    }
  });
}

TEST_CASE("where the file's chunks end changes nothing") {
  for_random_programs([](const Program& program, const Run& run) {
    const Explained plain = explained(explain_generated(load_generated(program, run)), 0);
    Recording rounds;
    rounds.round_ns = 100'000 + static_cast<Nanoseconds>(run.host.size() * 7'919 % 1'500'000);  // any length
    const Trace trace = load_generated(program, run, rounds);
    REQUIRE(trace.lossy.empty());
    REQUIRE(explained(explain_generated(trace), 0) == plain);
  });
}

TEST_CASE("calls that take no time change nothing") {
  for_random_programs([](const Program& program, const Run& run) {
    Trace trace = load_generated(program, run);
    const auto before = totals(explain_generated(trace));
    std::vector<Call> more;
    for (const Call& call : trace.calls) {
      Call nothing;
      nothing.span = {call.span.end_ns, call.span.end_ns};
      nothing.thread = call.thread;
      nothing.api = call.api;
      nothing.context = call.context;
      nothing.category = ApiCategory::kOther;
      more.push_back(call);
      more.push_back(nothing);
    }
    std::stable_sort(more.begin(), more.end(),
                     [](const Call& a, const Call& b) { return a.span.begin_ns < b.span.begin_ns; });
    trace.calls = std::move(more);
    REQUIRE(totals(explain_generated(trace)) == before);
  });
}

TEST_CASE("programs that run twice cost twice") {
  Nanoseconds difference_ns = 0;
  Nanoseconds whole_ns = 0;
  for_random_programs([&](const Program& program, const Run& run) {
    Trace trace = load_generated(program, run);
    const auto once = totals(explain_generated(trace));
    const Nanoseconds length_ns = trace.windows.front().span.length_ns();
    const auto again = [&](auto& rows, auto&& change) {
      auto copies = rows;
      for (auto& row : copies) {
        row.span = {row.span.begin_ns + length_ns, row.span.end_ns + length_ns};
        change(row);
      }
      rows.insert(rows.end(), copies.begin(), copies.end());
    };
    constexpr std::uint32_t kOtherIds = 1'000'000;
    const auto renumber = [](auto& row) {
      if (number(row.correlation) != 0) row.correlation = CorrelationId{number(row.correlation) + kOtherIds};
    };
    again(trace.calls, renumber);
    again(trace.launches, renumber);
    again(trace.operations, renumber);
    again(trace.polls, [](Poll&) {});
    again(trace.samples, [](Sample&) {});
    again(trace.host_waits, [&](HostWait& wait) { wait.wake_ns += wait.wake_ns == 0 ? 0 : length_ns; });
    trace.nvtx_events.clear();
    trace.windows.push_back(
        {{trace.windows.front().span.end_ns, trace.windows.front().span.end_ns + length_ns}, "start"});
    trace.last_ns += length_ns;
    const auto twice = totals(explain_generated(trace));
    for (const auto& [key, ns] : twice) {
      if (is_edge(std::get<1>(key))) continue;
      difference_ns += std::abs(ns - 2 * (once.contains(key) ? once.at(key) : 0));
      whole_ns += ns;
    }
  });
  // All but the time where the two runs meet, which is idle time of neither alone, and what twice as many samples
  // measure better.
  CAPTURE(difference_ns, whole_ns);
  CHECK(difference_ns * 15 <= whole_ns);
}

}  // namespace synctrace::testing::generator::generated_properties_test
