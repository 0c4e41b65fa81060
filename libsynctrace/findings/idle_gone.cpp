// SPDX-License-Identifier: Apache-2.0
#include "findings/idle_gone.h"

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

struct Places {
  Nanoseconds of_lines_ns = 0;
  Nanoseconds elsewhere_ns = 0;
  Nanoseconds of_no_line_ns = 0;
};

// In the function itself, one that it defines, as "update.<locals>.<lambda>", or one that it calls.
bool is_inside(const SourceLine& where, const std::string& function) {
  return where.function == function || where.function.starts_with(function + ".<locals>.") ||
         std::any_of(where.stack.begin(), where.stack.end(),
                     [&](const ShownFrame& each) { return each.frame.function == function; });
}

Places idle_at(const Report& report, const std::string& function, bool by_steps, const Remedy& remedy) {
  Places idle;
  for (const DeviceReport& device : report.devices) {
    if (device.id != report.verdict.device) continue;
    for (const IdleCause& cause : device.causes) {
      if (is_edge(cause.kind)) continue;
      const bool is_there = std::any_of(remedy.fixes.begin(), remedy.fixes.end(), [&](const ShownFix& fix) {
        if (fix.where.file.empty() || fix.where.file != cause.where.file) return false;
        return function.empty() ? fix.where.line == cause.where.line : is_inside(cause.where, function);
      });
      Nanoseconds& sum = is_there                   ? idle.of_lines_ns
                         : cause.where.file.empty() ? idle.of_no_line_ns
                                                    : idle.elsewhere_ns;
      sum = add_saturated(sum, by_steps ? cause.steady_ns : cause.idle_ns);
    }
  }
  return idle;
}

}  // namespace

void count_lines_gone(const Report& report, const std::string& function, Nanoseconds base_ns, bool by_steps,
                      Remedy& remedy) {
  const Places idle = idle_at(report, function, by_steps, remedy);
  const Nanoseconds known_ns = add_saturated(idle.of_lines_ns, idle.elsewhere_ns);
  if (known_ns <= 0) return;
  const double part = static_cast<double>(idle.of_lines_ns) / static_cast<double>(known_ns);
  const auto share_ns = static_cast<Nanoseconds>(part * static_cast<double>(idle.of_no_line_ns));
  // What the GPU computes stays.
  const VerdictLine& verdict = report.verdict;
  const double lacked =
      verdict.of_ns <= 0 ? 1 : static_cast<double>(verdict.lacked_ns) / static_cast<double>(verdict.of_ns);
  const auto most_ns = static_cast<Nanoseconds>(std::clamp(lacked, 0.0, 1.0) * static_cast<double>(base_ns));
  const Nanoseconds saved_ns = std::min(most_ns, add_saturated(idle.of_lines_ns, share_ns));
  if (saved_ns <= remedy.alone.ns) return;
  remedy.alone.ns = saved_ns;
  remedy.alone.lo_ns = std::max(remedy.alone.lo_ns, std::min(most_ns, idle.of_lines_ns));
  remedy.alone.hi_ns =
      std::clamp(add_saturated(idle.of_lines_ns, idle.of_no_line_ns), saved_ns, std::max(saved_ns, base_ns));
  remedy.marginal = remedy.cumulative = remedy.alone;
}

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
