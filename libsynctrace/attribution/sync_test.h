// SPDX-License-Identifier: Apache-2.0
// Did a call wait for the GPU? Decided by behaviour: what was outstanding when it began, when that work ended, and when
// the call returned; not by the name of the function, so waits hidden in copies and frees are found as well.
//
// A call waited when work issued before it was outstanding for longer than kOutstandingMarginNs, and the call returned
// just after that work ended. "Just after" is the return latency of the trace's own waits (its p90) plus the margin,
// plus the call's own unblocked cost where the function is known to wait first and work afterwards. Freeing memory
// waits for the whole device, so a free waited when it outlived all outstanding work. A copy is judged by the order of
// streams: it waited when it returned after its own transfer began and that transfer had to come after the work in
// flight. Functions that are not known to wait count only as sites: at least 80 % of the calls that met outstanding
// work must have returned with it (Wilson lower bound of at least one half for fewer than five).
//
// Without a GPU timeline (level "syncs", or outside the windows) the known table and the call's length against its own
// unblocked cost decide, and the judgement says so. A download to pageable memory waits for the work before it
// (docs/attribution.md) and hides that in its length, so there the table alone decides.
#pragma once

#include <cstdint>
#include <vector>

#include "model/calibrate.h"
#include "model/outstanding.h"
#include "model/trace.h"

namespace synctrace {

inline constexpr int kLongCallFactor = 5;  // a call this many times its own cost was held up by something

enum class Verdict : std::uint8_t {
  kUnknown,         // long while work was outstanding, but not in step with it; or a function nobody knows
  kReturnedAtOnce,  // did not wait for the GPU, however long it took
  kRedundant,       // an explicit wait with nothing to wait for
  kOwnWork,         // a copy that waited for its own transfer only
  kBlocked,         // waited for work issued before
};

enum class Basis : std::uint8_t { kTimeline, kLength };  // kLength: or by the table alone, without the GPU timeline

struct Judgement {
  Verdict verdict = Verdict::kUnknown;
  Basis basis = Basis::kTimeline;
  bool creates_context = false;  // the first call of a process or device: its length is CUDA starting up
  bool met_work = false;         // work was outstanding beyond the margin (basis kTimeline)
  Nanoseconds waited_ns =
      0;  // only for kBlocked: from the begin to the end of the work waited for, where the timeline tells
  Nanoseconds blocked_ns = 0;  // only for kBlocked: the same plus the return latency, or to the return
};

// One per row of Trace::calls, from rows of `outstanding`.
std::vector<Judgement> judge_calls(const Trace& trace, const std::vector<Outstanding>& outstanding,
                                   const Calibration& calibration);

// Whether this call, or one of its kind, could have waited: it did, its function is known to wait, or nobody knows the
// function.
bool can_wait(const Call& call, const Judgement& judgement) noexcept;

}  // namespace synctrace
