// SPDX-License-Identifier: Apache-2.0
// Whether a thread can afford one more stack. A stack in front of a call that waits costs nothing: the thread would
// have waited for longer. In front of calls that return at once it is all cost, so those may take a fixed share of the
// thread's time, and calls that only issue work a smaller one. But a site that has had no stack for a while always gets
// one: nothing must stay nameless for other sites' sake. Samples, of which the next one is as good, keep to their
// share, and regular looks to what samples leave of it. One thread's own; times are CLOCK_MONOTONIC.
#pragma once

#include <array>
#include <cstdint>

namespace synctrace::capture {

class StackBudget {
 public:
  // What a stack is taken for: each has a share of its own, but that kLook takes from kSample's. kWork: launches behind
  // a pause, copies within the device. kLook: a thread's regular ones.
  enum class Use : std::uint8_t { kCall, kWork, kSample, kLook };
  // Shares of the thread's time: 1 %, 0.25 % and 0.25 %.
  static constexpr std::array<std::int64_t, 3> kOneIn = {100, 400, 400};

  // A site that had none for so long gets one whatever the share says: a call ten times a second, work once, since a
  // step has dozens of such sites. With all slots in use that is at most 2,560 stacks a second, and 256.
  static constexpr std::array<std::int64_t, 2> kRareNs = {100'000'000, 1'000'000'000};

  // A call as long as this has waited, or was long for another reason: 20 times what a stack costs.
  static constexpr std::int64_t kWaitNs = 30'000;

  // A site is anything that tells call sites apart at no cost; two may share a slot by chance.
  using Site = std::uint8_t;
  static Site site_of(std::uint64_t call, std::uintptr_t stack_address) noexcept {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
    return static_cast<Site>(((call << 48 ^ stack_address) * kOdd) >> 56);
  }

  bool allows(Use use, Site site, std::int64_t now_ns) noexcept;

  // After the stack was taken.
  void spend(Use use, Site site, std::int64_t now_ns, std::int64_t cost_ns) noexcept;

  // After the call, whether it had a stack or not; `cost_ns` is of its stack, 0 without.
  void call_ended(Site site, std::int64_t call_ns, std::int64_t cost_ns) noexcept;

 private:
  // Time saved up for a burst: calls come in bursts while a program sets itself up. Work comes in bursts in every step,
  // which must not cost more than the share for long: a dozen stacks. And the most that one stack is charged: the first
  // of a site can cost more, once.
  static constexpr std::array<std::int64_t, kOneIn.size()> kMaxCreditNs = {10'000'000, 50'000, 50'000};
  static constexpr std::int64_t kMaxChargeNs = 20'000;

  // A sample pays more, since its next one is as good. But what took longer than this was interrupted: one turn of
  // another process, of milliseconds, must not leave the thread without samples for seconds.
  static constexpr std::int64_t kMaxSampleChargeNs = 50'000;

  // Looks leave samples this much, more than one look is charged: samples are by chance only if none is refused for
  // the sake of a look at the launch before it.
  static constexpr std::int64_t kKeptForSamplesNs = 25'000;
  static_assert(kKeptForSamplesNs > kMaxChargeNs && kKeptForSamplesNs < kMaxCreditNs[2]);

  static constexpr std::size_t purse_of(Use use) noexcept {
    return static_cast<std::size_t>(use == Use::kLook ? Use::kSample : use);
  }

  struct Purse {
    std::int64_t credit_ns;
    std::int64_t filled_at_ns;
  };
  struct Slot {
    std::int64_t taken_at_ns;
    bool waits;  // its last call did
  };

  // Zero is the valid first state: no credit yet, no site known.
  std::array<Purse, kOneIn.size()> purses_;
  std::array<Slot, 256> slots_;
};

}  // namespace synctrace::capture
