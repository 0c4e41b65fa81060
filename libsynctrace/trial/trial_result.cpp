// SPDX-License-Identifier: Apache-2.0
#include "trial/trial_result.h"

#include <algorithm>

namespace synctrace {
namespace {

double middle_of(const std::vector<TimedPair>& pairs, double TimedPair::*side) {
  std::vector<double> values;
  for (const TimedPair& pair : pairs) values.push_back(pair.*side);
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

}  // namespace

double middle_before(const TimedTrial& result) { return middle_of(result.pairs, &TimedPair::before); }
double middle_after(const TimedTrial& result) { return middle_of(result.pairs, &TimedPair::after); }

double shown_figure(const TimedTrial& result, double time) { return result.is_rate && time > 0.0 ? 1.0 / time : time; }

}  // namespace synctrace
