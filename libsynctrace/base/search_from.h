// SPDX-License-Identifier: Apache-2.0
// A binary search that remembers where it was: questions whose answers lie close together cost O(log of their
// distance).
#pragma once

#include <cstddef>

namespace synctrace {

// The number of leading indices below `count` for which `before(index)` holds; they must come first. Looks near
// `cursor` first and leaves the answer there.
template <class Before>
std::size_t search_from(std::size_t count, std::size_t& cursor, Before&& before) {
  std::size_t low = 0;
  std::size_t high = count;
  std::size_t at = cursor < count ? cursor : count;
  for (std::size_t stride = 1;; stride *= 2) {  // gallop until the answer is in [low, high]
    if (at < high && before(at)) {
      low = at + 1;
      if (low >= high || at + stride >= high) break;
      at += stride;
      if (!before(at)) {
        high = at;
        break;
      }
    } else {
      high = at;
      if (at <= low || at - low < stride) break;
      at -= stride;
      if (before(at)) {
        low = at + 1;
        break;
      }
    }
  }
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (before(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return cursor = low;
}

}  // namespace synctrace
