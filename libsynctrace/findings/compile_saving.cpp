// SPDX-License-Identifier: Apache-2.0
#include "findings/compile_saving.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "attribution/attribute.h"
#include "findings/report/rules.h"
#include "findings/report/savings.h"

namespace synctrace {
namespace {

struct Idle {
  Nanoseconds ns = 0;
  Nanoseconds uncertain_ns = 0;
};

// The idle time of one GPU in what savings are a part of.
Idle compile_idle(const std::vector<Cause>& causes, bool by_steps) {
  Idle idle;
  for (const Cause& cause : causes) {
    const CauseKind kind = cause.key.activity_kind == CauseKind::kUnknown ? cause.key.kind : cause.key.activity_kind;
    if (kind != CauseKind::kCompile || cause.key.copying) continue;
    idle.ns = add_saturated(idle.ns, by_steps ? cause.steady_ns : cause.idle_ns);
    idle.uncertain_ns =
        add_saturated(idle.uncertain_ns, by_steps ? cause.uncertain_in_steps_ns
                                                  : cause.by_confidence[static_cast<std::size_t>(Confidence::kLow)]);
  }
  return idle;
}

}  // namespace

void count_compilation(const Attribution& attribution, SavingsReport& savings) {
  if (savings.remedies.empty() || savings.remedies.front().rule != &kCompileRule) return;
  Idle most;
  for (const auto& [device, causes] : attribution.causes) {
    const Idle idle = compile_idle(causes, savings.by_steps);
    if (idle.ns > most.ns) most = idle;
  }
  Remedy& first = savings.remedies.front();
  const Nanoseconds more_ns = std::min(most.ns, savings.base_ns) - first.alone.ns;
  if (more_ns <= 0) return;
  const Nanoseconds sure_ns = std::max<Nanoseconds>(0, more_ns - most.uncertain_ns);
  const auto raise = [&](Interval& saving) {
    saving.ns = std::min(savings.base_ns, saving.ns + more_ns);
    saving.lo_ns = std::min(saving.ns, saving.lo_ns + sure_ns);
    saving.hi_ns = std::clamp(saving.hi_ns + more_ns, saving.ns, savings.base_ns);
  };
  raise(first.alone);
  raise(first.marginal);
  for (Remedy& remedy : savings.remedies) raise(remedy.cumulative);
  raise(savings.all);
}

}  // namespace synctrace
