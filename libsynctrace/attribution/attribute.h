// SPDX-License-Identifier: Apache-2.0
// The room's one entry point: all that is concluded from a trace, before it is grouped and worded.
//
// Cost: O((calls + launches + operations + waits + samples) log n) time, and memory linear in them; parts of gaps are
// added up as they are found and not kept, unless asked for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attribution/cause_table.h"
#include "attribution/collective_time.h"
#include "attribution/device_state.h"
#include "attribution/device_use.h"
#include "attribution/evidence.h"
#include "attribution/gpu_sleep.h"
#include "attribution/sync_test.h"
#include "model/loaded_trace.h"
#include "model/trace.h"
#include "steps/run_times.h"
#include "steps/steps.h"

namespace synctrace {

struct Attribution {
  std::unique_ptr<const Evidence> evidence;  // the joins that all of it rests on; refers to the trace
  std::vector<Judgement> judgements;         // one per row of Trace::calls
  GpuSleeps sleeps;                          // waits for the GPU outside CUDA calls
  Calibration calibration;
  std::map<DeviceId, DeviceState> devices;
  std::map<DeviceId, CollectiveTime> collectives;  // devices that ran any
  std::map<DeviceId, DeviceUse> uses;              // devices that NVML was asked about
  std::map<DeviceId, std::vector<Cause>> causes;   // one list a device; none without a timeline
  Steps steps;                                     // the phase that is reported about
  std::vector<Steps> other_phases;                 // sorted by time, the longest first
  std::size_t phase = 1;                           // the place of `steps` among all phases by time, from 1
  RunTimes times;                                  // they add up to the recording
  std::map<DeviceId, std::vector<PhaseIdle>> phase_idle;
  std::uint64_t unmatched_operations = 0;  // GPU work without a recorded call
  std::vector<std::string> breaches;       // invariants that do not hold: always empty but for bugs

  std::vector<HostTimeline::Neighbours> stretches;             // the rows of OwnerTable::kStretch
  std::map<DeviceId, std::vector<Part>> parts;                 // only where asked for
  std::map<DeviceId, std::vector<std::uint32_t>> part_causes;  // beside parts: Cause::number of each
};

struct AttributeOptions {
  bool keep_parts = false;
  StepQuestion steps;
  const Steps* known_steps = nullptr;  // steps of the trace that this one is an excerpt of; none are looked for
};

// The trace must outlive the result.
Attribution attribute(const Trace& trace, const AttributeOptions& options = {});
// The same, sooner: it takes the joins out of `loaded`.
Attribution attribute(LoadedTrace& loaded, const AttributeOptions& options = {});

}  // namespace synctrace
