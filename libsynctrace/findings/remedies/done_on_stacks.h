// SPDX-License-Identifier: Apache-2.0
// What the host does on each stack in the whole run: the evidence for loops and for data that it makes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attribution/usual_launches.h"
#include "base/shares.h"
#include "findings/calls/stack_places.h"
#include "model/correlate.h"
#include "model/trace.h"
#include "names/resolve_stack.h"

namespace synctrace {

using FunctionOfFile = std::pair<std::string, std::string>;  // file, name
using StackFrames = std::vector<ResolvedFrame>;              // innermost first

struct DoneOnStack {
  std::uint64_t reads = 0;    // copies to the host
  std::uint64_t uploads = 0;  // copies to the GPU
  std::uint64_t launches = 0;
  std::uint64_t samples = 0;  // outside of calls of CUDA
  Nanoseconds uploading_ns = 0;
  std::map<StringId, std::uint64_t> kernels = {};
  StackFrames frames = {};
  StackPlace place{};
  bool is_backward = false;

  std::uint64_t issued() const { return uploads + launches; }
  std::uint64_t all() const { return reads + issued() + samples; }
};

struct DoneInRun {
  std::vector<DoneOnStack> stacks;  // none: there are too many
  std::uint64_t launches = 0;
  std::uint64_t samples = 0;      // outside of calls, from the first launch on
  std::uint64_t in_backward = 0;  // launches of the threads on which PyTorch runs it
  Nanoseconds a_sample_ns = 0;    // host time that a sample stands for
};

DoneInRun done_in_run(const Trace& trace, const Correlation& correlation, const UsualLaunches& usual,
                      StackPlaces& places);

// What has fewer of the samples takes too little time to be told as a change of its own.
constexpr bool takes_a_share(std::uint64_t samples, const DoneInRun& run) noexcept {
  return samples > 0 && ratio(samples, run.samples) >= percent(3);
}

// The innermost frame of the user's own Python code, from that one on; frames.end(): there is none.
StackFrames::const_iterator users_frame(StackFrames::const_iterator from, const StackFrames& frames,
                                        const StackPlaces& places);

}  // namespace synctrace
