// SPDX-License-Identifier: Apache-2.0
#include "steps/step_candidates.h"

#include <algorithm>
#include <iterator>

#include "model/correlate.h"
#include "steps/step_limits.h"

namespace synctrace {

double share_issued_in(const std::vector<TimeSpan>& spans, const Correlation& correlation) {
  const auto by_issue = correlation.by_issue();
  const std::size_t stride = by_issue.size() / kMostWorkLooks + 1;
  std::size_t looks = 0;
  std::size_t inside = 0;
  for (std::size_t i = 0; i < by_issue.size(); i += stride) {
    const Nanoseconds issued_ns = correlation.issued_ns(by_issue[i]);
    const auto after = std::upper_bound(spans.begin(), spans.end(), issued_ns,
                                        [](Nanoseconds t, TimeSpan span) { return t < span.begin_ns; });
    ++looks;
    if (after != spans.begin() && issued_ns < std::prev(after)->end_ns) ++inside;
  }
  return looks == 0 ? 1 : static_cast<double>(inside) / static_cast<double>(looks);
}

}  // namespace synctrace
