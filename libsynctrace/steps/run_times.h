// SPDX-License-Identifier: Apache-2.0
// The recording as parts on one axis of time, which add up to it exactly: before the first step, the steps by kind and
// phase, between them, and after the last one.
#pragma once

#include <string>
#include <vector>

#include "steps/steps.h"

namespace synctrace {

struct RunTimes {
  Nanoseconds before_ns = 0;    // up to the first step of any phase; all of the recording where there are no steps
  Nanoseconds warm_up_ns = 0;   // the warm-up of every phase
  Nanoseconds ordinary_ns = 0;  // in the reported phase, like irregular_ns
  Nanoseconds irregular_ns = 0;
  Nanoseconds others_ns = 0;  // the other phases without their warm-up
  Nanoseconds between_ns = 0;
  Nanoseconds after_ns = 0;

  Nanoseconds sum() const noexcept;
  friend bool operator==(const RunTimes&, const RunTimes&) = default;
};

// Steps of all phases are brought onto one axis first: none begins before the one in front of it has ended, and all lie
// in the recording. Nearly always they do already.
RunTimes run_times(Steps& reported, std::vector<Steps>& others, TimeSpan recording);

}  // namespace synctrace
