// SPDX-License-Identifier: Apache-2.0
#include "attribution/invariants.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "attribution/attribute.h"

namespace synctrace {
namespace {

bool may_lack_owner(const Part& part) noexcept {
  return is_edge(part.kind) || part.kind == CauseKind::kUnknown || part.owner.table != OwnerTable::kNone;
}

// Adds the steps to what holds some of their kinds already.
void add_times(const Steps& steps, bool is_reported, RunTimes& times, std::vector<TimeSpan>& spans) {
  for (const Step& step : steps.steps) {
    spans.push_back({step.from_ns, step.from_ns + step.length_ns});
    if (step.kind == StepKind::kWarmUp)
      times.warm_up_ns += step.length_ns;
    else if (!is_reported)
      times.others_ns += step.length_ns;
    else
      (step.kind == StepKind::kIrregular ? times.irregular_ns : times.ordinary_ns) += step.length_ns;
  }
}

}  // namespace

std::string check_parts(std::span<const Gap> gaps, std::span<const Part> parts) {
  auto part = parts.begin();
  for (const Gap& gap : gaps) {
    Nanoseconds filled_ns = gap.span.begin_ns;
    for (; part != parts.end() && part->span.begin_ns < gap.span.end_ns; ++part) {
      if (part->span.begin_ns != filled_ns || part->span.empty() || part->copying != gap.copying) {
        return "I1: the parts of a gap overlap or leave time out";
      }
      if (!may_lack_owner(*part)) return "I4: " + std::string(cause_name(part->kind)) + " has no owner";
      filled_ns = part->span.end_ns;
    }
    if (filled_ns != gap.span.end_ns) return "I1: the parts of a gap do not fill it";
  }
  return part == parts.end() ? "" : "I1: parts lie outside all gaps";
}

std::vector<std::string> check_sums(const Attribution& attribution) {
  std::vector<std::string> breaches;
  for (const auto& [id, state] : attribution.devices) {
    const std::string device = " on device " + std::to_string(number(id));
    if (state.compute_ns + state.copy_only_ns + state.idle_ns != state.window_ns) {
      breaches.push_back("I3: states do not sum to the window" + device);
    }
    Nanoseconds idle_ns = 0;
    Nanoseconds copying_ns = 0;
    const auto causes = attribution.causes.find(id);
    if (causes == attribution.causes.end()) {
      breaches.push_back("I2: no causes" + device);
      continue;
    }
    for (const Cause& cause : causes->second) {
      (cause.key.copying ? copying_ns : idle_ns) += cause.idle_ns;
      const Nanoseconds levels_ns =
          std::accumulate(cause.by_confidence.begin(), cause.by_confidence.end(), Nanoseconds{0});
      if (levels_ns != cause.idle_ns) breaches.push_back("I5: levels do not sum to their cause" + device);
      const Nanoseconds uncertain_ns = cause.by_confidence[static_cast<std::size_t>(Confidence::kLow)];
      if (cause.uncertain_in_steps_ns > std::min(uncertain_ns, cause.steady_ns)) {
        breaches.push_back("I5: more is uncertain in the steps than there is" + device);
      }
    }
    if (idle_ns != state.idle_ns) breaches.push_back("I2: causes do not sum to the idle time" + device);
    if (copying_ns != state.copy_only_ns) breaches.push_back("I2: causes do not sum to the copy-only time" + device);
  }
  return breaches;
}

std::vector<std::string> check_times(const Attribution& attribution, TimeSpan recording) {
  RunTimes times;
  std::vector<TimeSpan> spans;
  add_times(attribution.steps, true, times, spans);
  for (const Steps& steps : attribution.other_phases) add_times(steps, false, times, spans);
  std::sort(spans.begin(), spans.end(),
            [](TimeSpan a, TimeSpan b) { return std::pair(a.begin_ns, a.end_ns) < std::pair(b.begin_ns, b.end_ns); });
  const auto overlap =
      std::adjacent_find(spans.begin(), spans.end(), [](TimeSpan a, TimeSpan b) { return b.begin_ns < a.end_ns; });
  std::vector<std::string> breaches;
  if (overlap != spans.end()) breaches.push_back("I7: steps overlap");
  times.before_ns = (spans.empty() ? recording.end_ns : spans.front().begin_ns) - recording.begin_ns;
  times.after_ns = spans.empty() ? 0 : recording.end_ns - spans.back().end_ns;
  const Nanoseconds known_ns = times.sum();
  times.between_ns = recording.length_ns() - known_ns;
  if (times != attribution.times || times.between_ns < 0 || times.before_ns < 0 || times.after_ns < 0)
    breaches.push_back("I7: steps and the time between and around them do not add up to the recording");
  return breaches;
}

}  // namespace synctrace
