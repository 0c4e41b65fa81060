// SPDX-License-Identifier: Apache-2.0
// What to change where kernels themselves take the time: rules ST070 and on. Each row needs evidence in the
// recording, and says what stays of the time of which kernels. The parts come from changes that were timed on an H200
// (docs/measurements/gpu-bound.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "findings/calls/stack_places.h"
#include "findings/gpu_work/launched_kernels.h"
#include "findings/remedies/frameworks.h"
#include "findings/remedies/launch_targets.h"
#include "findings/remedies/remedy_words.h"
#include "findings/report/savings.h"
#include "model/correlate.h"
#include "whatif/kernel_change.h"

namespace synctrace {

// A change of kernels as a report shows it, with what its lines have of what it saves alone; cumulative savings are the
// caller's.
Remedy kernel_remedy(const KernelAdvice& advice, const Interval& alone, const StackPlaces& places);

// The GPU that the verdict is about.
struct GpuState {
  std::string_view name;
  bool is_limit = false;  // it hardly ever lacks work
};

std::vector<KernelAdvice> kernel_advice(const Trace& trace, const Correlation& correlation, const GpuState& gpu,
                                        const Frameworks& frameworks, const LaunchTargets& targets,
                                        StackPlaces& places);

}  // namespace synctrace
