// SPDX-License-Identifier: Apache-2.0
// Report and gate count the same waits in the same way.
#include "findings/calls/wait_sites.h"

#include "findings/build_report.h"
#include "support/catch.h"
#include "support/trace_maker.h"

namespace synctrace::testing::waits_test {
namespace {

constexpr TestApi kSync{ApiId{1}, ApiCategory::kStreamSync, "cudaStreamSynchronize"};
constexpr TestApi kCopy{ApiId{2}, ApiCategory::kCopyAsync, "cudaMemcpyAsync"};
constexpr StackId kLine{1};

// What the report and the gate say of the one line that waits.
struct Both {
  CallSite site;
  Report report;
  WaitFigures of_gate;
  std::uint64_t judged_by_length = 0;  // by the gate
  const Rule* rule_of_gate = nullptr;
};

class Program {
 public:
  Program() {
    maker_.add_api(kSync);
    maker_.add_api(kCopy);
    maker_.add_window(0, 1'000'000);
    maker_.add_stream(kStream, format::Stream::kNonBlocking);
    maker_.add(format::Code{1, 0x030c0100, 10, "/home/ada/train.py", "step", "\xe9\x04"});
    maker_.add(format::Stack{kLine, "p1:0"});
  }

  // A copy and the synchronisation behind it, judged so.
  Both pair(const Judgement& copied, const Judgement& synced, std::uint32_t status = 0) {
    format::Call copy = maker_.make_call(kCopy, {10'000, 20'000}, kStream, 1);
    copy.copy_kind = CopyKind::kDeviceToHost;
    copy.bytes = 4'096;
    copy.status = status;
    format::Call sync = maker_.make_call(kSync, {20'000, 90'000}, kStream, 2);
    copy.stack = sync.stack = kLine;
    maker_.add(copy);
    maker_.add(sync);
    const Trace trace = maker_.load();
    Attribution attribution = attribute(trace);
    attribution.judgements = {copied, synced};
    return look(trace, attribution);
  }

  // Sleeps one after the other, 30 us each.
  Both sleeps(const std::vector<GpuSleep>& judged) {
    Nanoseconds begin_ns = 10'000;
    for (std::size_t i = 0; i < judged.size(); ++i, begin_ns += 50'000) {
      format::HostWait wait;
      wait.thread = kThread;
      wait.begin_ns = begin_ns;
      wait.duration_ns = 30'000;
      wait.call = HostCall::kFutex;
      wait.stack = kLine;
      maker_.add(wait);
    }
    const Trace trace = maker_.load();
    Attribution attribution = attribute(trace);
    attribution.sleeps.host_waits = judged;
    return look(trace, attribution);
  }

 private:
  static Both look(const Trace& trace, const Attribution& attribution) {
    Both both;
    both.report = build_report(trace, attribution, {});
    REQUIRE(both.report.waits.size() == 1);
    both.site = both.report.waits.front();
    const WaitSites found = find_wait_sites(trace, attribution, {}, {});
    REQUIRE(found.sites.size() == 1);
    REQUIRE(found.sites.front().groups.size() == 1);
    both.of_gate = found.sites.front().groups.front().figures();
    both.judged_by_length = found.judged_by_length;
    both.rule_of_gate = found.sites.front().rule;
    return both;
  }

  TraceMaker maker_;
};

Judgement judged(Verdict verdict, Basis basis) {
  Judgement judgement;
  judgement.verdict = verdict;
  judgement.basis = basis;
  judgement.blocked_ns = verdict == Verdict::kBlocked ? 5'000 : 0;
  return judgement;
}

constexpr Judgement kAtOnceByLength{Verdict::kReturnedAtOnce, Basis::kLength};

}  // namespace

TEST_CASE("a pair of calls is judged by length only where no part that decides was judged by the timeline") {
  const Both sync_decides = Program().pair(kAtOnceByLength, judged(Verdict::kBlocked, Basis::kTimeline));
  CHECK(sync_decides.site.figures.by_length == 0);
  CHECK(sync_decides.of_gate.waited == 1);
  CHECK(sync_decides.of_gate.waited_by_length == 0);
  CHECK(sync_decides.judged_by_length == 0);
  const Both both_decide =
      Program().pair(judged(Verdict::kBlocked, Basis::kTimeline), judged(Verdict::kBlocked, Basis::kLength));
  CHECK(both_decide.site.figures.by_length == 0);
  CHECK(both_decide.of_gate.waited_by_length == 0);
  CHECK(both_decide.judged_by_length == 0);
  const Both by_length =
      Program().pair(judged(Verdict::kBlocked, Basis::kLength), Judgement{Verdict::kReturnedAtOnce, Basis::kTimeline});
  CHECK(by_length.site.figures.by_length == 1);
  CHECK(by_length.of_gate.waited_by_length == 1);
  CHECK(by_length.judged_by_length == 1);
}

TEST_CASE("a pair has failed where one of its calls has") {
  CHECK(Program().pair(kAtOnceByLength, kAtOnceByLength).site.figures.failed == 0);
  CHECK(Program().pair(kAtOnceByLength, kAtOnceByLength, 700).site.figures.failed == 1);
}

TEST_CASE("a pair that did not wait can be judged by length, too") {
  const Both both = Program().pair(kAtOnceByLength, kAtOnceByLength);
  CHECK(both.site.figures.by_length == 1);
  CHECK(both.of_gate.waited_by_length == 0);
  CHECK(both.judged_by_length == 1);
}

TEST_CASE("a sleep until GPU work ends is a wait in the report as in the gate") {
  const Both both = Program().sleeps({{.waited = true, .owner = 0}, {.waited = false, .owner = 1}});
  CHECK(both.site.rule() == &kFrameworkWaitRule);
  CHECK(both.rule_of_gate == &kFrameworkWaitRule);
  CHECK(both.site.function() == "futex");
  CHECK(both.site.where.line == 12);
  CHECK(both.site.verdict == SiteVerdict::kWaits);
  CHECK(both.site.figures.calls == 1);
  CHECK(both.of_gate.calls == 1);
  CHECK(both.site.figures.host_blocked_ns == 30'000);
  CHECK(both.of_gate.host_blocked_ns == 30'000);
  CHECK(both.report.calls.host_blocked_ns == 30'000);
}

}  // namespace synctrace::testing::waits_test
