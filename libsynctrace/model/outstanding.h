// SPDX-License-Identifier: Apache-2.0
// What the GPU still had to do when a host call began, for every call of a trace, in one sweep over time.
//
// Work counts as outstanding from its issue (the begin of its call) to its end. Streams are in order, so the end of the
// work issued last is the end of the whole stream; per device these ends are kept sorted, and each question below is a
// search among them: O(log streams) per call and per operation. What another thread issues while a call is under way is
// not in the picture: a wait covers what was issued before it began.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "model/correlate.h"
#include "model/trace.h"

namespace synctrace {

inline constexpr Nanoseconds kNoTime = std::numeric_limits<Nanoseconds>::min();

struct Outstanding {
  // End of the last work on the call's device issued before it; kNoTime when there was none.
  Nanoseconds last_end_ns = kNoTime;
  // The latest end of a stream not after the call's return: what a call that waited may have waited for.
  Nanoseconds end_before_return_ns = kNoTime;

  // Explicit waits only: whether what it has to wait for is known, and the end of that work.
  bool target_known = false;
  Nanoseconds target_end_ns = kNoTime;

  // The work that the call issued itself (a copy), and the latest end of a stream not after that work began.
  // own_in_order: the order of streams says that the own work had to come after that end.
  bool has_own = false;
  TimeSpan own;
  Nanoseconds end_before_own_ns = kNoTime;
  bool own_in_order = false;
};

// How far the work issued before a moment had got at that moment.
struct Progress {
  Nanoseconds last_end_ns = kNoTime;    // when all of it had ended, on any device
  Nanoseconds end_before_ns = kNoTime;  // the latest end of a stream not after the moment
  DeviceId device{};                    // the device of that stream
};
// One per time. `times` must be sorted.
std::vector<Progress> find_progress(const Trace& trace, const Correlation& correlation,
                                    const std::vector<Nanoseconds>& times);

// One per row of Trace::calls.
std::vector<Outstanding> find_outstanding(const Trace& trace, const Correlation& correlation);

// Both joins of a trace: made where it is loaded, for its clocks, and of use again to whoever analyses it.
struct Joins {
  explicit Joins(const Trace& trace) : correlation(trace), outstanding(find_outstanding(trace, correlation)) {}
  Joins(Correlation issuers, std::vector<Outstanding> of_calls)
      : correlation(std::move(issuers)), outstanding(std::move(of_calls)) {}

  Correlation correlation;
  std::vector<Outstanding> outstanding;
};

}  // namespace synctrace
