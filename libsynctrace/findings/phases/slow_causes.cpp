// SPDX-License-Identifier: Apache-2.0
#include "findings/phases/slow_causes.h"

#include <algorithm>

namespace synctrace {

bool are_irregular_steps_at_least(Share share, const StepsReport& steps) noexcept {
  return steps.figures.irregular > 0 &&
         ratio(steps.irregular_ns, add_saturated(steps.irregular_ns, steps.ordinary_ns)) >= share;
}

std::vector<SlowCause> slow_causes(const Report& report, std::size_t most) {
  const auto irregular = static_cast<Nanoseconds>(report.steps.figures.irregular);
  const auto ordinary = static_cast<Nanoseconds>(report.steps.figures.count) - irregular;
  std::vector<SlowCause> rows;
  if (irregular == 0) return rows;
  for (const DeviceReport& device : report.devices) {
    for (const IdleCause& cause : device.causes) {
      const SlowCause row{&cause, cause.irregular_ns / irregular, ordinary > 0 ? cause.steady_ns / ordinary : 0};
      if (row.irregular_ns > row.ordinary_ns) rows.push_back(row);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const SlowCause& a, const SlowCause& b) {
    return a.irregular_ns - a.ordinary_ns > b.irregular_ns - b.ordinary_ns;
  });
  rows.resize(std::min(most, rows.size()));
  return rows;
}

}  // namespace synctrace
