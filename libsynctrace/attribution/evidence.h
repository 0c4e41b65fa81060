// SPDX-License-Identifier: Apache-2.0
// All that is known of a trace before its gaps are explained: joins, orders, measured paces, judgements. Built once and
// then only read (searches keep cursors, so by one thread at a time). The trace must outlive it.
#pragma once

#include <future>
#include <map>
#include <optional>
#include <vector>

#include "attribution/gpu_sleep.h"
#include "attribution/graph_breaks.h"
#include "attribution/host_timeline.h"
#include "attribution/launch_runs.h"
#include "attribution/sample_votes.h"
#include "attribution/stack_traits.h"
#include "attribution/sync_test.h"
#include "attribution/usual_launches.h"
#include "model/calibrate.h"
#include "model/correlate.h"
#include "model/device_pace.h"
#include "model/loss_spans.h"
#include "model/outstanding.h"
#include "model/stream_order.h"

namespace synctrace {

struct Evidence {
  // `joins`: of this very trace, where somebody has made them before.
  explicit Evidence(const Trace& trace, std::optional<Joins> joins = {});

  const Trace& trace;
  Correlation correlation;
  StreamOrder order;
  std::vector<Outstanding> outstanding;  // one per call
  Calibration calibration;
  std::map<DeviceId, DevicePace> paces;
  std::vector<Judgement> judgements;  // one per call
  HostTimeline host;
  std::future<LaunchRuns> found_runs;  // beside what comes next
  StackReader stacks;
  UsualLaunches usual_launches;
  GpuSleeps sleeps;
  SampleVotes votes;
  GraphBreaks breaks;
  std::vector<TimeSpan>
      lossy;  // when what is said may rest on records that are missing: nothing is better than a guess
  Nanoseconds launch_p50_ns = 0;              // length of a launch call
  std::vector<std::uint32_t> host_functions;  // rows of Trace::launches that launch no work but a function of the host
  std::vector<std::uint32_t> first_launches;  // the operations that were the first of their kernel, sorted
  LaunchRuns runs;

  const DevicePace& pace_of(DeviceId device) const {
    static constexpr DevicePace kNotMeasured;
    const auto found = paces.find(device);
    return found == paces.end() ? kNotMeasured : found->second;
  }
  // The call that put a host function in between a piece of work and the one before it in its stream: the last of the
  // issuing thread between their launches. The trace does not tell its stream. kNoRow: none.
  std::uint32_t host_function_before(std::uint32_t operation) const;
  bool is_first_of_kernel(std::uint32_t operation) const noexcept;

 private:
  Evidence(const Trace& trace, std::future<HostTimeline> timeline, Joins joins);
};

}  // namespace synctrace
