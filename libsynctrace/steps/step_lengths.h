// SPDX-License-Identifier: Apache-2.0
// How long each step took, by the ends of its GPU work, and which of them are ordinary. Takes steps that are disjoint
// and in order; between two of them may lie what belongs to no step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/correlate.h"
#include "model/trace.h"
#include "steps/steps.h"

namespace synctrace {

// Whether no step comes right before this one: it is the first, or something else lies between.
bool begins_anew(const std::vector<Step>& steps, std::size_t index) noexcept;

// The step that issued something at t; null: none. `cursor` as in Steps::kind_at.
const Step* step_at(const std::vector<Step>& steps, Nanoseconds t, std::size_t& cursor);

// Whether it loads code or creates a context: both are done once, however long the program runs.
bool loads_code(const Trace& trace, const Step& step);

// What the times of steps are taken from: the ends of GPU work or, where some step issued none, the host.
enum class StepAxis : std::uint8_t { kDevice, kHost };
StepAxis axis_of(const Correlation& correlation, const std::vector<Step>& steps);

// Sets `done_ns`, `from_ns` and `length_ns`. On the axis of the device a step lasts from the end of all work before it
// to the end of its own, which the host's running ahead does not disturb; one that begins anew at the earliest from its
// begin on the host. One without work ends with the host's part of it.
void measure_steps(const Trace& trace, const Correlation& correlation, StepAxis axis, std::vector<Step>& steps);

// Sets `kind`, by the lengths.
void judge_steps(const Trace& trace, std::vector<Step>& steps);

}  // namespace synctrace
