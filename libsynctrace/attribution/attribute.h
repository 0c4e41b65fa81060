// SPDX-License-Identifier: Apache-2.0
// The room's one entry point: all that is concluded from a trace, before it is grouped and worded.
#pragma once

#include <map>
#include <vector>

#include "attribution/device_state.h"
#include "attribution/sync_test.h"
#include "model/trace.h"

namespace synctrace {

struct Attribution {
  std::vector<Judgement> judgements;  // one per row of Trace::calls
  Calibration calibration;
  std::map<DeviceId, DeviceState> devices;
  std::uint64_t unmatched_operations = 0;  // GPU work without a recorded call
};

Attribution attribute(const Trace& trace);

}  // namespace synctrace
