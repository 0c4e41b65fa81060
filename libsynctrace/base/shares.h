// SPDX-License-Identifier: Apache-2.0
// Whether a time is a part worth naming of another.
#pragma once

#include "base/time_span.h"

namespace synctrace {

// Whether `part` is one in `one_in` of `whole`, or more. Without the product of the two, which the times of a damaged
// trace overflow.
constexpr bool is_at_least(Nanoseconds part, Nanoseconds whole, Nanoseconds one_in) noexcept {
  return part > whole / one_in || (part == whole / one_in && whole % one_in == 0);
}

}  // namespace synctrace
