// SPDX-License-Identifier: Apache-2.0
// How many random programs a test goes through: under AddressSanitizer, some thirty times slower, and where nothing is
// optimised (tests/mutation) a tenth. What it looks for shows in few.
#pragma once

#include <cstdint>

#include "support/sanitizers.h"

namespace synctrace::testing {

#ifdef SYNCTRACE_SMALL_EFFORT
inline constexpr bool kSmallEffort = true;
#else
inline constexpr bool kSmallEffort = SYNCTRACE_UNDER_ASAN;
#endif

// Whether it goes through all of them, so that shares of them mean something.
constexpr bool is_whole_effort() noexcept { return !kSmallEffort; }

constexpr std::uint64_t effort(std::uint64_t programs) noexcept { return kSmallEffort ? programs / 10 : programs; }

}  // namespace synctrace::testing
