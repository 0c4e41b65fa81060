// SPDX-License-Identifier: Apache-2.0
// How much a change makes a program faster or slower, by pairs of runs. docs/decisions says why it is found so.
#pragma once

#include <cstddef>
#include <span>

namespace synctrace {

// What two runs took, one of each side; both are positive. A rate counts as the time of one piece.
struct TimedPair {
  double before = 0.0;
  double after = 0.0;
};

// The time of the second side as a part of the first one's: 0.9 is a tenth less. One who looks at is_look(), and stops
// when it pleases, finds the true ratio outside of the interval in one of twenty trials at most.
struct Effect {
  double ratio = 1.0;
  double low = 0.0;  // and `high` is infinite, as long as there are too few pairs
  double high = 0.0;
};

inline constexpr std::size_t kFewestPairs = 3;
inline constexpr std::size_t kMostPairs = 100;  // one who looks more often is wrong more often

// Whether the effect is looked at after so many pairs: after each at first, then after every fifth part more.
bool is_look(std::size_t pairs) noexcept;

Effect effect_of(std::span<const TimedPair> pairs);

}  // namespace synctrace
