// SPDX-License-Identifier: Apache-2.0
// Guesses which thread ended another one's sleep where no record tells. Exactly one thread with records must have been
// at work just before, and then have gone to sleep or fallen silent. The guess is marked as one.
#pragma once

#include <optional>

#include "attribution/evidence.h"

namespace synctrace {

struct Handover {
  HostTimeline::Index thread = 0;
  Nanoseconds time_ns = 0;  // the thread's doings before this led to the wake-up
};

std::optional<Handover> guess_waker(const Evidence& evidence, HostTimeline::Index sleeper, Nanoseconds woken_ns);

}  // namespace synctrace
