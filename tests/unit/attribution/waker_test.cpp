// SPDX-License-Identifier: Apache-2.0
// Who woke a thread, where no record tells: one that was at work until then, and not longer than 200 us before or
// after.
#include "attribution/waker.h"

#include "support/catch.h"

namespace synctrace::testing::waker_test {
namespace {

constexpr Nanoseconds kUs = 1'000;
constexpr ThreadId kSleeper{100};
constexpr ThreadId kOther{101};
constexpr Nanoseconds kWokenUs = 1'000;

// The sleeper waits from 100 us to kWokenUs. Rows are added in order of time.
class Threads {
 public:
  Threads() { wait(100, kWokenUs, kSleeper); }

  Threads& call(Nanoseconds begin_us, Nanoseconds end_us, ThreadId thread = kOther) {
    Call call;
    call.span = {begin_us * kUs, end_us * kUs};
    call.thread = thread;
    trace_.calls.push_back(call);
    return *this;
  }

  Threads& wait(Nanoseconds begin_us, Nanoseconds end_us, ThreadId thread = kOther) {
    HostWait wait;
    wait.span = {begin_us * kUs, end_us * kUs};
    wait.thread = thread;
    trace_.host_waits.push_back(wait);
    return *this;
  }

  Threads& sample(Nanoseconds time_us, format::Sample::State state = format::Sample::State::kRunning) {
    Sample sample;
    sample.span = {time_us * kUs, time_us * kUs};
    sample.thread = kOther;
    sample.state = state;
    trace_.samples.push_back(sample);
    return *this;
  }

  // In us; -1: nobody, or not one alone.
  Nanoseconds handed_over() const {
    const Evidence evidence(trace_);
    const auto found = guess_waker(evidence, evidence.host.index_of(kSleeper), kWokenUs * kUs);
    return found ? found->time_ns / kUs : -1;
  }

 private:
  Trace trace_;
};

}  // namespace

TEST_CASE("a thread that goes to sleep within 200 us after the wake-up was the waker") {
  CHECK(Threads().call(490, 500).wait(1'200, 2'000).handed_over() == 1'000);
  CHECK(Threads().call(490, 500).wait(1'201, 2'000).handed_over() == -1);
}

TEST_CASE("a thread that fell silent was the waker, if it did something within 200 us before") {
  CHECK(Threads().call(790, 800).handed_over() == 1'000);
  CHECK(Threads().call(790, 799).handed_over() == -1);
}

TEST_CASE("a thread that calls within 200 us after the wake-up was not silent") {
  CHECK(Threads().call(890, 900).call(1'200, 1'210).handed_over() == -1);
  CHECK(Threads().call(890, 900).call(1'201, 1'210).handed_over() == 1'000);
  CHECK(Threads().call(890, 1'010).handed_over() == -1);
}

TEST_CASE("a thread that went to sleep up to 200 us before woke somebody then, one that slept longer did not") {
  CHECK(Threads().call(790, 800).wait(800, 2'000).handed_over() == 800);
  CHECK(Threads().call(790, 799).wait(799, 2'000).handed_over() == -1);
}

TEST_CASE("samples tell whether a thread without records worked") {
  using State = format::Sample::State;
  CHECK(Threads().sample(800).handed_over() == 1'000);
  CHECK(Threads().sample(799).handed_over() == -1);
  CHECK(Threads().sample(900, State::kBlocked).handed_over() == -1);
  CHECK(Threads().sample(900).sample(950, State::kBlocked).handed_over() == -1);
  // It is still running afterwards: not silent.
  CHECK(Threads().sample(900).sample(1'100).handed_over() == -1);
  CHECK(Threads().sample(900).sample(1'100, State::kBlocked).handed_over() == 1'000);
  CHECK(Threads().sample(900).sample(1'200).handed_over() == 1'000);
}

TEST_CASE("of two threads that could have been, none is named") {
  CHECK(Threads().call(890, 900).call(890, 900, ThreadId{102}).handed_over() == -1);
}

}  // namespace synctrace::testing::waker_test
