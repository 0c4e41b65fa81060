// SPDX-License-Identifier: Apache-2.0
// What the idle time of compilation adds to what a replay says of it.
#include "findings/idle_gone.h"

#include "attribution/attribute.h"
#include "findings/report/rules.h"
#include "findings/report/savings.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

// A run of 100 ns in which compilation left the GPU without work for `idle_ns`, `uncertain_ns` of it by guess.
Attribution compiled(Nanoseconds idle_ns, Nanoseconds uncertain_ns) {
  Attribution attribution;
  Cause cause;
  cause.key.kind = CauseKind::kCompile;
  cause.idle_ns = idle_ns;
  cause.by_confidence[static_cast<std::size_t>(Confidence::kLow)] = uncertain_ns;
  Cause other;
  other.key.kind = CauseKind::kHostCompute;
  other.idle_ns = 90;
  attribution.causes[DeviceId{0}] = {other, cause};
  return attribution;
}

SavingsReport replayed(const Rule& rule) {
  SavingsReport savings;
  savings.base_ns = 100;
  savings.remedies.resize(2);
  savings.remedies[0].rule = &rule;
  savings.remedies[0].alone = savings.remedies[0].marginal = savings.remedies[0].cumulative = {10, 5, 15, Grade::kHigh};
  savings.remedies[1].cumulative = savings.all = {20, 10, 25, Grade::kHigh};
  return savings;
}

}  // namespace

TEST_CASE("compilation saves the idle time that it caused, of which the guessed part is not sure") {
  SavingsReport savings = replayed(kCompileRule);
  count_compilation(compiled(70, 20), savings);
  const Interval& alone = savings.remedies[0].alone;
  CHECK(alone.ns == 70);
  CHECK(alone.lo_ns == 45);
  CHECK(alone.hi_ns == 75);
  CHECK(savings.remedies[1].cumulative.ns == 80);
  CHECK(savings.all.ns == 80);
  CHECK(savings.all.hi_ns == 85);
}

TEST_CASE("what a replay says stays where compilation caused less, or another change comes first") {
  SavingsReport savings = replayed(kCompileRule);
  count_compilation(compiled(8, 0), savings);
  CHECK(savings.remedies[0].alone.ns == 10);
  savings = replayed(kHostComputeRule);
  count_compilation(compiled(70, 0), savings);
  CHECK(savings.all.ns == 20);
}

TEST_CASE("lines that go save what they left idle, and their part of what no line explains") {
  Report report;
  report.verdict.device = 0;
  report.devices.resize(1);
  const auto cause = [&](const std::string& file, std::uint32_t line, Nanoseconds idle_ns) {
    IdleCause& row = report.devices[0].causes.emplace_back();
    row.kind = CauseKind::kHostCompute;
    row.where.file = file;
    row.where.line = line;
    row.where.function = "gain";
    row.idle_ns = row.steady_ns = idle_ns;
  };
  cause("train.py", 35, 45);
  cause("train.py", 36, 15);
  cause({}, 0, 20);
  Remedy remedy;
  remedy.fixes.resize(1);
  remedy.fixes[0].where = {"train.py", 35, "gain", {}, {}};
  remedy.alone = {30, 28, 32, Grade::kHigh};
  Remedy of_function = remedy;
  count_lines_gone(report, {}, 100, true, remedy);
  CHECK((remedy.alone.ns == 60 && remedy.alone.lo_ns == 45 && remedy.alone.hi_ns == 65));
  CHECK(remedy.cumulative.ns == 60);
  count_lines_gone(report, "gain", 70, true, of_function);
  CHECK((of_function.alone.ns == 70 && of_function.alone.lo_ns == 60 && of_function.alone.hi_ns == 70));
  report.devices[0].causes[1].where.function = "gain.<locals>.<lambda>";
  of_function.alone.ns = 30;
  count_lines_gone(report, "gain", 70, true, of_function);
  CHECK(of_function.alone.ns == 70);  // what it defines goes with it
  report.devices[0].causes[1].where.function = "residual";
  report.devices[0].causes[1].where.stack.resize(1);
  report.devices[0].causes[1].where.stack[0].frame.function = "gain";
  of_function.alone.ns = 30;
  count_lines_gone(report, "gain", 70, true, of_function);
  CHECK(of_function.alone.ns == 70);  // and what it calls
  remedy.alone.ns = 80;
  count_lines_gone(report, {}, 100, true, remedy);
  CHECK(remedy.alone.ns == 80);
}

TEST_CASE("no saving of compilation is larger than the run") {
  SavingsReport savings = replayed(kCompileRule);
  count_compilation(compiled(900, 0), savings);
  CHECK(savings.remedies[0].alone.ns == 100);
  CHECK(savings.remedies[1].cumulative.hi_ns == 100);
}

}  // namespace synctrace::testing
