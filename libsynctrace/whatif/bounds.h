// SPDX-License-Identifier: Apache-2.0
// How sure a predicted saving is. The point is the typical replay; the interval spans the corners of what the recording
// leaves open and of what the recorder takes, the scatter of the steps, and the error that the model has shown against
// programs with known truth.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/shares.h"
#include "whatif/evaluate.h"
#include "whatif/what_if.h"

namespace synctrace {

// Sites that are fixed, and what stays of kernels' time in the typical case, at best and at worst.
struct Changed {
  FixSet sites;
  KernelLengths usual = {};  // empty, as the others: kernels take as long as recorded
  KernelLengths least = {};
  KernelLengths most = {};
};

// Predictions nearer to zero than this share of the time are no gain: the model's own error against known truth.
inline constexpr Share kModelError = {1, 200};

class Bounds {
 public:
  // `uncertain_share`: of the idle time, how much is known with low confidence only.
  Bounds(const Evaluator& evaluator, double uncertain_share);

  Nanoseconds base_ns() const noexcept { return base_.time_ns; }
  // The time without the recorder, if less or more of it was the recorder's.
  TimeSpan base_range() const noexcept;
  Nanoseconds least_gain_ns() const noexcept;
  const TrialResult& base() const noexcept { return base_; }

  // One saving for each set of fixes, in order. `typical`, where given, becomes the typical results with their details.
  std::vector<Interval> savings(std::span<const FixSet> sets, std::vector<TrialResult>* typical = nullptr) const;
  // Typical savings of the sample, to put changes in order.
  std::vector<Nanoseconds> sample_savings(std::span<const Changed> changes) const;
  std::vector<Interval> savings(std::span<const Changed> changes, std::vector<TrialResult>* typical = nullptr) const;

 private:
  // The typical case, the two ends of all that the recording leaves open, and less or more taken off for the recorder.
  enum { kTypical, kOptimistic, kPessimistic, kLessOff, kMoreOff, kCorners };
  using Corners = std::array<Nanoseconds, kCorners>;
  // The time that the sample takes; `typical` is that of the typical case.
  std::vector<Corners> times_in_corners(std::span<const Changed> changes, std::vector<TrialResult> typical) const;
  std::vector<TrialResult> typical_of_sample(std::span<const Changed> changes) const;
  Nanoseconds sample_base_ns(std::size_t corner) const noexcept {
    return std::max<Nanoseconds>(1, sample_base_ns_[corner]);
  }

  double whole_per_sample() const noexcept {
    return static_cast<double>(base_.time_ns) / static_cast<double>(sample_base_ns(kTypical));
  }

  // The corners' part of a typical saving. It is found on the sample, so it costs little on long recordings.
  struct Reach {
    Nanoseconds down_ns = 0;
    Nanoseconds up_ns = 0;
  };
  std::vector<Reach> reaches(std::span<const Changed> changes, std::vector<TrialResult> typical) const;
  Interval interval_of(const TrialResult& typical, Reach reach) const;

  const Evaluator& evaluator_;
  double uncertain_share_;
  TrialResult base_;
  Corners sample_base_ns_{};  // nothing fixed
};

// The standard corners.
Corner optimistic_corner() noexcept;
Corner pessimistic_corner() noexcept;

}  // namespace synctrace
