// SPDX-License-Identifier: Apache-2.0
// Spans that overlap or touch, as one.
#pragma once

#include <algorithm>
#include <vector>

#include "base/time_span.h"

namespace synctrace {

// The same time in disjoint spans, in order.
inline std::vector<TimeSpan> merged(std::vector<TimeSpan> spans) {
  std::sort(spans.begin(), spans.end(), [](TimeSpan a, TimeSpan b) { return a.begin_ns < b.begin_ns; });
  std::size_t kept = 0;
  for (const TimeSpan span : spans) {
    if (kept > 0 && span.begin_ns <= spans[kept - 1].end_ns)
      spans[kept - 1].end_ns = std::max(spans[kept - 1].end_ns, span.end_ns);
    else
      spans[kept++] = span;
  }
  spans.resize(kept);
  return spans;
}

}  // namespace synctrace
