// SPDX-License-Identifier: Apache-2.0
// A trace -> a program that can be run again. O((records) log n) time and memory linear in them.
#pragma once

#include <string_view>
#include <vector>

#include "whatif/fix_sites.h"
#include "whatif/program.h"

namespace synctrace {

struct Attribution;

// The recorded times after an event, which an unchanged replay has to give again; kNeverNs: it has none.
struct RecordedTimes {
  Nanoseconds host_ns = kNeverNs;
  Nanoseconds start_ns = kNeverNs;
  Nanoseconds end_ns = kNeverNs;
};

// The steps of `attribution` become kStep events, one more than there are steps. A program with a `refusal` must not be
// concluded from. `recorded`, where given, becomes one row per event.
// `graph_range`: all that is launched in NVTX ranges of this name has one site, ReplayProgram::graph_site.
ReplayProgram build_program(const Attribution& attribution, const PlaceOf& place_of,
                            std::vector<RecordedTimes>* recorded = nullptr, std::string_view graph_range = {},
                            const WhatGoes& what_goes = {});

}  // namespace synctrace
