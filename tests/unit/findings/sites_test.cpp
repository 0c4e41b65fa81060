// SPDX-License-Identifier: Apache-2.0
// One finding for each of the user's lines: when a copy and a synchronisation are one, and when they are not.
#include "findings/calls/sites.h"

#include <map>
#include <string>

#include "findings/build_report.h"
#include "support/catch.h"
#include "support/trace_maker.h"

namespace synctrace::testing::sites_test {
namespace {

constexpr TestApi kSync{ApiId{1}, ApiCategory::kStreamSync, "cudaStreamSynchronize"};
constexpr TestApi kCopy{ApiId{2}, ApiCategory::kCopyAsync, "cudaMemcpyAsync"};
constexpr TestApi kMalloc{ApiId{3}, ApiCategory::kAlloc, "cudaMalloc"};

constexpr StackId kLine{1};         // the user's line, through a library
constexpr StackId kSameLine{2};     // through another function of it
constexpr StackId kAnotherLine{3};  // another line in the same function

// Calls one after the other, 10 us each, at lines of one Python function.
class Calls {
 public:
  Calls() {
    for (const TestApi& api : {kSync, kCopy, kMalloc}) maker_.add_api(api);
    maker_.add_window(0, 1'000'000'000);
    maker_.add_stream(kStream, format::Stream::kNonBlocking);
    maker_.add(format::Module{1, 0, 0, 0, 0, 0, "/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch.so", ""});
    // Two instructions of line 12, then two of line 13.
    maker_.add(format::Code{1, 0x030c0100, 10, "/home/ada/train.py", "step", "\xe9\x04\xe9\x02"});
    maker_.add(format::Stack{kLine, "n1:10 n1:20 p1:0"});
    maker_.add(format::Stack{kSameLine, "n1:30 p1:0"});
    maker_.add(format::Stack{kAnotherLine, "n1:10 n1:20 p1:4"});
  }

  Calls& sync(StackId stack, StreamId stream = kStream, ThreadId thread = kThread) {
    return add(kSync, stack, stream, thread, MemoryKind::kUnknown);
  }
  Calls& copy(StackId stack, MemoryKind memory = MemoryKind::kPinned, StreamId stream = kStream) {
    return add(kCopy, stack, stream, kThread, memory);
  }
  Calls& read(StackId stack, MemoryKind memory = MemoryKind::kPinned) {
    bytes_ = 8;
    add(kCopy, stack, kStream, kThread, memory);
    bytes_ = 4'096;
    return *this;
  }
  Calls& malloc(StackId stack) { return add(kMalloc, stack, StreamId{}, kThread, MemoryKind::kUnknown); }

  // The calls of the dearest site that were judged by their length.
  std::uint64_t judged_by_length() {
    const Trace trace = maker_.load();
    Attribution attribution = attribute(trace);
    for (Judgement& judgement : attribution.judgements) judgement.basis = Basis::kLength;
    return build_report(trace, attribution, {}).waits.at(0).figures.by_length;
  }

  // "api+api xCOUNT rule" of each site that can wait, in the order of lines.
  std::string sites() {
    const Trace trace = maker_.load();
    const Report report = build_report(trace, attribute(trace), {});
    std::map<std::string, int> words;
    std::uint64_t calls = 0;
    for (const CallSite& site : report.waits) {
      std::string text = std::to_string(site.where.line) + " ";
      for (const SiteCalls& one : site.calls) {
        text += (text.back() == ' ' ? "" : "+") + one.function.substr(4, 7);
        calls += one.figures.calls;
      }
      text += " x" + std::to_string(site.figures.calls);
      ++words[text + (site.rule() == nullptr ? "" : " " + std::string(site.rule()->id))];
    }
    CHECK(calls <= report.calls.calls);
    std::string all;
    for (const auto& [text, count] : words) all += (all.empty() ? "" : ", ") + text;
    return all;
  }

 private:
  Calls& add(const TestApi& api, StackId stack, StreamId stream, ThreadId thread, MemoryKind memory) {
    now_ns_ += 20'000;
    format::Call call = maker_.make_call(api, {now_ns_, now_ns_ + 10'000}, stream, ++correlation_);
    call.thread = thread;
    call.stack = stack;
    if (memory != MemoryKind::kUnknown) {
      call.copy_kind = CopyKind::kDeviceToHost;
      call.source_memory = MemoryKind::kDevice;
      call.target_memory = memory;
      call.bytes = bytes_;
    }
    maker_.add(call);
    return *this;
  }

  TraceMaker maker_;
  Nanoseconds now_ns_ = 0;
  std::uint32_t correlation_ = 0;
  std::uint64_t bytes_ = 4'096;
};

}  // namespace

TEST_CASE("a copy and the synchronisation behind it, from one line, are one finding") {
  CHECK(Calls().copy(kLine).sync(kSameLine).sites() == "12 StreamS+MemcpyA x1 ST001");
  CHECK(Calls().copy(kLine).sync(kSameLine).copy(kSameLine).sync(kLine).sites() == "12 StreamS+MemcpyA x2 ST001");
}

TEST_CASE("a copy and its synchronisation are judged by their length once") {
  CHECK(Calls().copy(kLine).sync(kLine).copy(kLine).sync(kLine).judged_by_length() == 2);
}

TEST_CASE("where the copy falls under a rule, the finding has it") {
  CHECK(Calls().copy(kLine, MemoryKind::kPageable).sync(kLine).sites() == "12 MemcpyA+StreamS x1 ST012");
}

TEST_CASE("a number that is read has one rule, whatever memory it goes to") {
  CHECK(Calls().read(kLine).sync(kSameLine).sites() == "12 StreamS+MemcpyA x1 ST020");
  CHECK(Calls().read(kLine, MemoryKind::kPageable).sync(kLine).sites() == "12 MemcpyA+StreamS x1 ST020");
}

TEST_CASE("a line has one rule for its waits, those without a copy of their own too") {
  CHECK(Calls().read(kLine).sync(kLine).sync(kLine).sites() == "12 StreamS x1 ST020, 12 StreamS+MemcpyA x1 ST020");
  CHECK(Calls().copy(kLine, MemoryKind::kPageable).sync(kLine).sync(kLine).sites() ==
        "12 MemcpyA+StreamS x1 ST012, 12 StreamS x1 ST012");
  CHECK(Calls().read(kLine, MemoryKind::kPageable).sync(kAnotherLine).sites() ==
        "12 MemcpyA x1 ST020, 13 StreamS x1 ST001");
}

TEST_CASE("a call of another thread in between changes nothing") {
  CHECK(Calls().copy(kLine).sync(StackId{}, kStream, ThreadId{7}).sync(kLine).sites() ==
        "0 StreamS x1 ST001, 12 StreamS+MemcpyA x1 ST001");
}

TEST_CASE("what one statement did not make is two findings") {
  CHECK(Calls().copy(kLine, MemoryKind::kPageable).sync(kAnotherLine).sites() ==
        "12 MemcpyA x1 ST012, 13 StreamS x1 ST001");
  CHECK(Calls().copy(kLine, MemoryKind::kPageable, kNullStream).sync(kLine).sites() ==
        "12 MemcpyA x1 ST012, 12 StreamS x1 ST001");
  CHECK(Calls().copy(kLine, MemoryKind::kPageable).malloc(kLine).sync(kLine).sites() ==
        "12 MemcpyA x1 ST012, 12 StreamS x1 ST001");
  CHECK(Calls().sync(kLine).copy(kLine, MemoryKind::kPageable).sites() == "12 MemcpyA x1 ST012, 12 StreamS x1 ST001");
}

TEST_CASE("of two synchronisations behind a copy, one belongs to it") {
  CHECK(Calls().copy(kLine).sync(kLine).sync(kLine).sites() == "12 StreamS x1 ST001, 12 StreamS+MemcpyA x1 ST001");
}

TEST_CASE("without stacks nobody knows what belongs together") {
  CHECK(Calls().copy(StackId{}, MemoryKind::kPageable).sync(StackId{}).sites() ==
        "0 MemcpyA x1 ST012, 0 StreamS x1 ST001");
}

}  // namespace synctrace::testing::sites_test
