// SPDX-License-Identifier: Apache-2.0
// Programs with known loops, one for each seed. What there is:
//   training      epochs of steps: loader or copies, layers forward and backward (on this thread or autograd's), an
//                 optimizer of a few kernels or of a loop over parameters, a log line, validation after each epoch or
//                 every n steps, generation, checkpoints; the loop in a module, a function, a library's trainer, or
//                 around one call
//   micro-loop    the same with several batches in an inner loop for one run of the optimizer: that is the step
//   micro-count   the same, by a count in the loop over batches
//   gan           two networks and two optimizers in a step
//   decode        prompts, tokens, layers; a read for each token, for each layer, or none: a token is the step
//   solver        iterations until converged, in time steps, native code: an iteration is the step
//   sync-loop     a few kernels and a wait
//   graphs        a step is one graph, or a few, with copies and log lines
//   jit           a step's kernels come from one call, maybe on another thread; a wait every n steps
//   reinforcement host-side environment steps with a small network each, then updates
// Host times jitter, kernels have other names now and then, records are missing, hosts pause for long; stacks are there
// at calls and some launches, at calls, or not at all. A reader of the trace could tell where a step of each loop
// begins: by a wait or a copy, or by work that only begins or ends a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/trace.h"
#include "support/loops/tape.h"

namespace synctrace::testing::loops {

struct LoopProgram {
  std::string kind;
  std::string description;  // one line
  Conditions conditions;
  std::vector<Phase> phases;
  Trace trace;
};

LoopProgram loop_program(std::uint64_t seed);

// Loops in loops.
LoopProgram nested_program(std::uint64_t seed);

}  // namespace synctrace::testing::loops
