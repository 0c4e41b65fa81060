// SPDX-License-Identifier: Apache-2.0
// Classes of steps, by what the loop's body calls: an engine that serves requests has steps that prefill, that decode,
// and that do both. Each class has lengths of its own.
#pragma once

#include <cstdint>

#include "code/user_frame.h"
#include "steps/step_events.h"
#include "steps/step_items.h"
#include "steps/steps.h"

namespace synctrace {

// Sets `classes` and each step's `of_class`, where the functions that are called tell two to four classes apart which
// issue more or less work than each other. `function` loops, a number of `events`; its steps are in order.
void find_step_classes(StepEvents& events, const UserCode& user_code, std::uint32_t function, const StepItems& items,
                       Steps& steps);

}  // namespace synctrace
