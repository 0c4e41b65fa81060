// SPDX-License-Identifier: Apache-2.0
#include "attribution/attribute.h"

#include "model/correlate.h"
#include "model/outstanding.h"

namespace synctrace {

Attribution attribute(const Trace& trace) {
  const Correlation correlation(trace);
  const std::vector<Outstanding> outstanding = find_outstanding(trace, correlation);
  Attribution result;
  result.calibration = calibrate(trace, outstanding);
  result.judgements = judge_calls(trace, outstanding, result.calibration);
  result.devices = device_states(trace);
  result.unmatched_operations = correlation.unmatched_operations();
  return result;
}

}  // namespace synctrace
