// SPDX-License-Identifier: Apache-2.0
// Which steps a report is about, and what else the program does. All outputs for people say it alike; nothing where the
// program has one loop that is known for sure.
#pragma once

#include <string>
#include <vector>

#include "findings/report/report.h"
#include "render/places.h"

namespace synctrace {

// "Steps: train(), train.py:41, 940 found by its loop." And where they are guessed, what to do about it.
std::vector<std::string> step_sentences(const Report& report, const ScreenPlaces& places);

// "Also: validate(), train.py:88: 200 steps, 18.0 % of the time..." of the `most` other phases with the most time, how
// many are left out, and what lies between the steps.
std::vector<std::string> other_phase_sentences(const Report& report, const ScreenPlaces& places, std::size_t most);

}  // namespace synctrace
