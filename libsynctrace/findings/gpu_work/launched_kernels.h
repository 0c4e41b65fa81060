// SPDX-License-Identifier: Apache-2.0
// The kernels of a recording beside the lines that launched them, and what a change takes away of them, line by line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "findings/calls/stack_places.h"
#include "findings/gpu_work/kernel_times.h"
#include "findings/remedies/frameworks.h"
#include "findings/report/rules.h"
#include "whatif/kernel_change.h"

namespace synctrace {

using KernelStays = std::function<ShareRange(const KernelClass&)>;

// In the order beside changes of the host, which the replay knows and other programs need not vouch for. One that
// changes results stands behind one that saves half as much and changes nothing.
inline constexpr Share kShareOfSameResults = {1, 2};
inline constexpr Share kOtherDigits = {1, 5};
inline constexpr Share kFewDigits = {1, 10};

struct KernelAdvice {
  const Rule* rule = nullptr;
  KernelChange change;
  std::string title;
  std::vector<std::string> to_type;
  struct Line {
    StackPlace place{};
    Nanoseconds gone_ns = 0;  // the time that kernels lose that are launched there
  };
  std::vector<Line> lines;  // dearest first; at least one
};

struct CountedKernels {
  std::vector<KernelAdvice::Line> lines;  // dearest first
  Nanoseconds gone_ns = 0;
  Framework framework = Framework::kCuda;  // the first line's
};

// Whole percent; none of nothing.
inline Share part_of(Nanoseconds inside_ns, Nanoseconds outside_ns) {
  const double all_ns = static_cast<double>(inside_ns) + static_cast<double>(outside_ns);
  return percent(all_ns <= 0 ? 0 : static_cast<std::int32_t>(100 * static_cast<double>(inside_ns) / all_ns));
}

class LaunchedKernels {
 public:
  // All must outlive the object.
  LaunchedKernels(const Trace& trace, const Correlation& correlation, const Frameworks& frameworks,
                  StackPlaces& places);

  const KernelTimes& times() const { return times_; }
  const SourceLine& line_of(StackId stack);
  // Launched by autograd: on a thread of its own, or where backward() was called.
  bool is_in_backward(StackId stack);
  // They take more than that share of all kernels' time.
  bool is_most(Nanoseconds ns, Share share) const { return ratio(ns, times_.device_ns) > share; }
  CountedKernels count(const KernelStays& stays);
  // A change that takes less away is not looked at.
  bool is_worth_it(const CountedKernels& counted) const;

 private:
  bool is_of_autograds_thread(StackId stack);
  void find_backward();

  const KernelTimes times_;
  const Frameworks& frameworks_;
  StackPlaces& places_;
  StackPlace backward_{};
  std::unordered_map<StackId, SourceLine> lines_;
};

}  // namespace synctrace
