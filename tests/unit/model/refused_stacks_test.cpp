// SPDX-License-Identifier: Apache-2.0
#include "model/refused_stacks.h"

#include "support/catch.h"
#include "support/trace_maker.h"

namespace synctrace::testing {
namespace {

constexpr TestApi kCopy{ApiId{1}, format::ApiCategory::kCopyAsync, "cudaMemcpyAsync"};
constexpr TestApi kWait{ApiId{2}, format::ApiCategory::kStreamSync, "cudaStreamSynchronize"};
constexpr StackId kAtCopy{11}, kAtWait{12}, kElsewhere{13};

// Reads, each of a copy and the wait behind it.
class Reads {
 public:
  Reads() {
    maker_.add_api(kCopy);
    maker_.add_api(kWait);
  }

  void refuse() { maker_.add(format::Loss{0, "stack-budget", 1}); }

  void copy(StackId stack) { call(kCopy, stack); }
  void wait(StackId stack, ThreadId thread = kThread) { call(kWait, stack, thread); }
  void launch(ThreadId thread) {
    format::Launch launch;
    launch.thread = thread;
    launch.begin_ns = now_ns_ += 10;
    maker_.add(launch);
  }

  // Eight reads of which all is known, the last from `last`.
  void known(StackId last = kAtWait) {
    for (int i = 0; i < 8; ++i) {
      copy(kAtCopy);
      wait(i < 7 ? kAtWait : last);
    }
  }

  // The stack of the last call; where it has one it was given.
  StackId end() {
    const Trace trace = maker_.load();
    const StackId stack = trace.calls.back().stack;
    CHECK((trace.stats.count(kLossInferredStacks) == 1) == (stack != StackId{}));
    return stack;
  }

 private:
  void call(const TestApi& api, StackId stack, ThreadId thread = kThread) {
    now_ns_ += 10;
    format::Call call = maker_.make_call(api, {now_ns_, now_ns_ + 5}, kStream, 1);
    call.thread = thread;
    call.stack = stack;
    maker_.add(call);
  }

  TraceMaker maker_;
  Nanoseconds now_ns_ = 0;
};

}  // namespace

TEST_CASE("a wait without a stack has that of all others behind the same copy") {
  Reads reads;
  reads.refuse();
  reads.known();
  reads.copy(kAtCopy);
  SECTION("right behind it") { reads.wait(StackId{}); }
  SECTION("whatever another thread launches") {
    reads.launch(ThreadId{101});
    reads.wait(StackId{});
  }
  CHECK(reads.end() == kAtWait);
}

TEST_CASE("a call keeps its own stack, or none, where its place is not sure") {
  Reads reads;
  SECTION("nothing was refused") {
    reads.known();
    reads.copy(kAtCopy);
  }
  SECTION("another wait behind that copy was elsewhere") {
    reads.refuse();
    reads.known(kElsewhere);
    reads.copy(kAtCopy);
  }
  SECTION("only seven are known") {
    reads.refuse();
    reads.known(StackId{});
    reads.copy(kAtCopy);
  }
  SECTION("the copy is another one") {
    reads.refuse();
    reads.known();
    reads.copy(kElsewhere);
  }
  SECTION("there is a launch between, as there was before") {
    reads.refuse();
    reads.known();
    reads.launch(kThread);
    reads.copy(kAtCopy);
    reads.launch(kThread);
  }
  SECTION("the copy is of another thread") {
    reads.refuse();
    reads.known();
    reads.copy(kAtCopy);
    reads.wait(StackId{}, ThreadId{101});
    CHECK(reads.end() == StackId{});
    return;
  }
  SECTION("another function is called behind it") {
    reads.refuse();
    reads.known();
    reads.copy(kAtCopy);
    reads.copy(StackId{});
    CHECK(reads.end() == StackId{});
    return;
  }
  reads.wait(StackId{});
  CHECK(reads.end() == StackId{});
}

}  // namespace synctrace::testing
