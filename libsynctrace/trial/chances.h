// SPDX-License-Identifier: Apache-2.0
// Chances of two distributions that decide between two rows of numbers.
#pragma once

#include <cstddef>

namespace synctrace {

// |t| that Student's distribution exceeds with chance `level`, from 1e-9 to below 1.
double student_limit(double level, std::size_t degrees_of_freedom);

// Two rows of `count` numbers each, in any order with the same chance: the most pairs (one number of each row) that may
// be the other way round, so that this few are with chance `level` or less. -1: even none is too likely.
long rank_limit(double level, std::size_t count);

}  // namespace synctrace
