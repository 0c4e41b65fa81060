// SPDX-License-Identifier: Apache-2.0
// How many random programs a test goes through: under AddressSanitizer, some thirty times slower, a tenth. What it looks for
// shows in few.
#pragma once

#include <cstdint>

namespace synctrace::testing {

constexpr std::uint64_t effort(std::uint64_t programs) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  return programs / 10;
#else
  return programs;
#endif
}

}  // namespace synctrace::testing
