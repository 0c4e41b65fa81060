// SPDX-License-Identifier: Apache-2.0
// How often the sampler may look, by what looks cost. For one thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace synctrace::capture {

class SampleBudget {
 public:
  explicit SampleBudget(std::int64_t now_ns) noexcept : time_ns_(now_ns) {}

  // When the next look can be paid for: time earns a two-hundredth of itself (0.5 % of one core), and looks spend what
  // they cost. `spent_ns`: the processor's time of all looks so far. Not later than kLongestPauseNs from now: a look
  // while Python imports modules takes milliseconds, as all it finds is new, and must not blind the next seconds.
  std::int64_t affordable_ns(std::int64_t now_ns, std::int64_t spent_ns) noexcept {
    constexpr std::int64_t kMostSavedNs = 1'000'000;  // what an idle time leaves for a burst
    budget_ns_ = std::min(budget_ns_ + (now_ns - time_ns_) / kPauseForCost, kMostSavedNs) - (spent_ns - spent_ns_);
    budget_ns_ = std::max(budget_ns_, -kLongestPauseNs / kPauseForCost);
    time_ns_ = now_ns;
    spent_ns_ = spent_ns;
    return budget_ns_ >= 0 ? now_ns : now_ns - budget_ns_ * kPauseForCost;
  }

  static constexpr std::int64_t kPauseForCost = 200;
  static constexpr std::int64_t kLongestPauseNs = 200'000'000;

 private:
  std::int64_t time_ns_ = 0;
  std::int64_t budget_ns_ = 0;
  std::int64_t spent_ns_ = 0;
};

}  // namespace synctrace::capture
