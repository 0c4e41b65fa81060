// SPDX-License-Identifier: Apache-2.0
// Where times lie among the steps of all phases: in one of the phase that is reported about, in one of another phase,
// between steps, or before the first and after the last of them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "steps/steps.h"

namespace synctrace {

inline constexpr std::uint32_t kNoPhase = 0xffff'ffff;

// Idle time of a device by cause, in one of the other phases, or between the steps.
struct PhaseIdle {
  std::uint32_t phase = 0;  // index in Attribution::other_phases; their number: between the steps
  std::uint32_t cause = 0;  // Cause::number
  Nanoseconds idle_ns = 0;
};

// Fast where times come about in order.
class PhaseSearch {
 public:
  // Both must outlive the object.
  PhaseSearch(const Steps& reported, const std::vector<Steps>& others);

  struct At {
    StepKind kind = StepKind::kOutside;  // in the phase that is reported about
    std::uint32_t phase = kNoPhase;      // see PhaseIdle; none in that phase, in a warm-up, and at start and end
    // A gap that ends in a step is the step's from here on. What lies before is between steps, where the step does not
    // follow another one at once.
    Nanoseconds from_ns = std::numeric_limits<Nanoseconds>::min();
  };
  At at(Nanoseconds t);
  // For a time that lies in no step.
  At outside(Nanoseconds t) const noexcept {
    return all_.contains(t) ? At{StepKind::kOutside, static_cast<std::uint32_t>(others_.size())} : At{};
  }

 private:
  Nanoseconds own_from(const Steps& steps, std::size_t next) const;

  const Steps& reported_;
  const std::vector<Steps>& others_;
  TimeSpan all_;  // from the first step of any phase to the last
  std::size_t cursor_ = 0;
  std::vector<std::size_t> cursors_;  // beside others_
};

}  // namespace synctrace
