// SPDX-License-Identifier: Apache-2.0
// What stands for many: the stack that a cause mostly came by, a gap of ordinary length, and steps in a row that are
// near the median.
#include <algorithm>
#include <string>
#include <vector>

#include "findings/build_report.h"
#include "support/catch.h"
#include "support/trace_maker.h"
#include "timeline/page/idle_occurrences.h"
#include "timeline/page/wanted_stretches.h"

namespace synctrace::testing {
namespace {

constexpr TestApi kSync{ApiId{1}, ApiCategory::kStreamSync, "cudaStreamSynchronize"};
constexpr StackId kUsual{1};
constexpr StackId kLoading{2};  // at the same line, through what loads its code

// Kernels of 100 us; after each of them the host waits in one call for longer than the kernel takes.
class Waits {
 public:
  Waits() {
    maker_.add_api(kSync);
    maker_.add_stream(kStream, format::Stream::kNonBlocking);
    maker_.add(format::Module{1, 0, 0, 0, 0, 0, "/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch.so", ""});
    maker_.add(format::Code{1, 0x030c0100, 10, "/home/ada/train.py", "step", "\xe9\x04"});
    maker_.add(format::Stack{kUsual, "n1:10 p1:0"});
    maker_.add(format::Stack{kLoading, "n1:40 n1:10 p1:0"});
  }

  Waits& wait(StackId stack, Nanoseconds after_work_ns) {
    const Nanoseconds kernel_ns = at_ns_ + 10'000;
    maker_.add_kernel({kernel_ns, kernel_ns + 100'000}, kStream, at_ns_, ++work_);
    const Nanoseconds end_ns = kernel_ns + 100'000 + after_work_ns;
    format::Call call = maker_.make_call(kSync, {at_ns_ + 5'000, end_ns}, kStream, 1'000 + work_);
    call.stack = stack;
    maker_.add(call);
    at_ns_ = end_ns;
    return *this;
  }

  Trace load() {
    maker_.add_window(0, at_ns_);
    return maker_.load();
  }

 private:
  TraceMaker maker_;
  Nanoseconds at_ns_ = 1'000;
  std::uint32_t work_ = 0;
};

Attribution explained(const Trace& trace) {
  static const Steps kNone;
  AttributeOptions options;
  options.keep_parts = true;
  options.known_steps = &kNone;  // the recording as a whole
  return attribute(trace, options);
}

const IdleCause& first_cause(const Report& report) {
  const std::vector<IdleCause>& causes = report.devices.at(0).causes;
  const auto found = std::find_if(causes.begin(), causes.end(),
                                  [](const IdleCause& cause) { return cause.kind == CauseKind::kStreamSync; });
  REQUIRE(found != causes.end());
  return *found;
}

Steps steps_of(const std::vector<Nanoseconds>& lengths, const std::vector<std::size_t>& irregular = {}) {
  Steps steps;
  Nanoseconds at_ns = 0;
  for (const Nanoseconds length_ns : lengths) {
    Step step{{at_ns, at_ns + length_ns}, at_ns + length_ns, at_ns, length_ns, StepKind::kSteady};
    const std::size_t index = steps.steps.size();
    if (std::find(irregular.begin(), irregular.end(), index) != irregular.end()) step.kind = StepKind::kIrregular;
    steps.steps.push_back(step);
    at_ns += length_ns;
  }
  return steps;
}

TimeSpan opening_of(const std::vector<Nanoseconds>& lengths, const std::vector<std::size_t>& irregular = {},
                    const std::vector<std::size_t>& left_out = {}) {
  Attribution attribution;
  attribution.steps = steps_of(lengths, irregular);
  for (const std::size_t index : left_out)
    attribution.steps.steps.erase(attribution.steps.steps.begin() + static_cast<std::ptrdiff_t>(index));
  Report report;
  report.steps.figures.p50_ns = 100;
  return page::typical_steps(attribution, report);
}

}  // namespace

TEST_CASE("a cause shows the stack that it mostly came by, not the one that was first") {
  Waits waits;
  waits.wait(kLoading, 900'000);
  for (int i = 0; i < 5; ++i) waits.wait(kUsual, 20'000);
  const Trace trace = waits.load();
  const Report report = build_report(trace, explained(trace), {});
  const IdleCause& cause = first_cause(report);
  CHECK(cause.where.line == 12);
  CHECK(cause.where.stack.size() == 2);
  CHECK(cause.where.function == "step");
}

TEST_CASE("a typical gap is the one that half of the idle time is in shorter ones of") {
  Waits waits;
  for (const Nanoseconds idle_ns : {10'000, 40'000, 41'000, 10'000, 42'000, 60'000}) waits.wait(kUsual, idle_ns);
  const Trace trace = waits.load();
  const Attribution attribution = explained(trace);
  const Report report = build_report(trace, attribution, {});
  const auto occurrences = page::find_occurrences(trace, attribution, report);
  const auto row = static_cast<std::size_t>(&first_cause(report) - report.devices[0].causes.data());
  const page::CauseOccurrences& found = occurrences.at(0).idle.at(row);
  CHECK(found.typical.length_ns() == 51'000);  // with the launch of the next kernel
  const auto is_typical = [&](TimeSpan span) { return span.begin_ns == found.typical.begin_ns; };
  CHECK(std::count_if(found.longest.begin(), found.longest.end(), is_typical) == 1);
}

TEST_CASE("a gap from one step into the next is the next one's, unless that begins anew") {
  Waits waits;
  for (int i = 0; i < 3; ++i) waits.wait(kUsual, 40'000);
  waits.wait(kUsual, 0);
  const Trace trace = waits.load();
  Attribution attribution = explained(trace);
  const Report report = build_report(trace, attribution, {});
  const auto row = static_cast<std::size_t>(&first_cause(report) - report.devices[0].causes.data());
  const auto found = [&] { return page::find_occurrences(trace, attribution, report).at(0).idle.at(row).longest; };
  const std::vector<TimeSpan> gaps = found();
  REQUIRE(gaps.size() == 3);
  const Nanoseconds in_gap_ns = gaps[1].begin_ns + gaps[1].length_ns() / 2;
  attribution.steps.steps.resize(2);
  attribution.steps.steps[0].host = {0, in_gap_ns};
  attribution.steps.steps[1].host = {in_gap_ns, gaps[2].end_ns + 1};
  CHECK(found() == gaps);
  attribution.steps.steps[0].host.end_ns = in_gap_ns - 1;
  CHECK(found() == std::vector{gaps[0], gaps[2]});
}

TEST_CASE("typical steps are three in a row near the median, without irregular ones between") {
  CHECK(opening_of({300, 100, 130, 101, 99, 101, 100, 80, 100}) == TimeSpan{631, 931});
  CHECK(opening_of({90, 100, 900, 100, 105, 95}, {2}) == TimeSpan{1'090, 1'390});
  CHECK(opening_of({100, 100, 900, 120, 100}, {2}) == TimeSpan{0, 200});
  CHECK(opening_of({100, 100, 900, 120, 100, 100}, {}, {2}) == TimeSpan{1'100, 1'420});  // nothing between them
  CHECK(opening_of({900}, {0}) == TimeSpan{});
  CHECK(opening_of({}) == TimeSpan{});
}

}  // namespace synctrace::testing
