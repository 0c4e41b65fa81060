// SPDX-License-Identifier: Apache-2.0
// Which thread ended another one's sleep where no record tells: the one that, of all threads with records, was at work
// just before and then itself went to sleep or fell silent, if there is exactly one. A guess, and marked as such.
#pragma once

#include <optional>

#include "attribution/evidence.h"

namespace synctrace {

struct Handover {
  HostTimeline::Index thread = 0;
  Nanoseconds time_ns = 0;  // what the thread did before this led to the wake-up
};

std::optional<Handover> guess_waker(const Evidence& evidence, HostTimeline::Index sleeper, Nanoseconds woken_ns);

}  // namespace synctrace
