// SPDX-License-Identifier: Apache-2.0
#include "attribution/steps.h"

#include <algorithm>
#include <cmath>

#include "attribution/step_candidates.h"
#include "base/search_from.h"

namespace synctrace {
namespace {

// The end of the last work that each step issued.
void find_ends(const Trace& trace, const Correlation& correlation, std::vector<Step>& steps) {
  std::size_t at = 0;
  for (const std::uint32_t row : correlation.by_issue()) {
    const Nanoseconds issued_ns = correlation.issued_ns(row);
    while (at < steps.size() && steps[at].host.end_ns <= issued_ns) ++at;
    if (at == steps.size()) break;
    if (issued_ns < steps[at].host.begin_ns) continue;
    steps[at].done_ns = std::max(steps[at].done_ns, trace.operations[row].span.end_ns);
  }
}

// By the work's ends where every step has work, which run-ahead of the host does not disturb; else by the host's
// begins.
void find_lengths(std::vector<Step>& steps) {
  const bool all_work = std::all_of(steps.begin(), steps.end(), [](const Step& step) { return step.done_ns > 0; });
  Nanoseconds last_ns = steps.front().host.begin_ns;
  for (Step& step : steps) {
    if (!all_work) {
      step.length_ns = step.host.length_ns();
      continue;
    }
    step.done_ns = std::max(step.done_ns, last_ns);
    step.length_ns = step.done_ns - last_ns;
    last_ns = step.done_ns;
  }
}

// Leading steps that load code or create contexts, at most half of all; then as many more as make the mean of the rest
// surest (the rule called MSER: least variance of the mean).
std::size_t warm_up_of(const Trace& trace, const std::vector<Step>& steps) {
  const auto loads = [&](const Step& step) {
    auto call = std::lower_bound(trace.calls.begin(), trace.calls.end(), step.host.begin_ns,
                                 [](const Call& row, Nanoseconds t) { return row.span.begin_ns < t; });
    for (; call != trace.calls.end() && call->span.begin_ns < step.host.end_ns; ++call) {
      const bool one_off = call->category == ApiCategory::kModule || call->category == ApiCategory::kGraph ||
                           call->category == ApiCategory::kContext || call->category == ApiCategory::kAlloc;
      if (one_off) return true;
    }
    return false;
  };
  const std::size_t most = steps.size() / 2;
  std::size_t first = 0;
  while (first < most && loads(steps[first])) ++first;
  if (first == most) first = 0;  // it does so all the time
  double sum = 0;
  double squares = 0;
  double best = -1;
  std::size_t best_first = first;
  for (std::size_t i = steps.size(); i-- > first;) {
    const double length = static_cast<double>(steps[i].length_ns);
    sum += length;
    squares += length * length;
    const double n = static_cast<double>(steps.size() - i);
    if (i > most || n < 2) continue;
    const double variance = std::max(0.0, squares / n - (sum / n) * (sum / n)) / n;
    if (best < 0 || variance <= best) {
      best = variance;
      best_first = i;
    }
  }
  return best_first;
}

Nanoseconds median(std::vector<Nanoseconds> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Steps further from the median than five times the usual spread.
void mark_irregular(std::vector<Step>& steps, std::size_t first) {
  std::vector<Nanoseconds> lengths;
  for (std::size_t i = first; i < steps.size(); ++i) lengths.push_back(steps[i].length_ns);
  const Nanoseconds middle = median(lengths);
  for (Nanoseconds& length : lengths) length = std::abs(length - middle);
  // Where steps hardly differ, a few per cent are still ordinary.
  const Nanoseconds spread = std::max(median(lengths) * 3 / 2, middle / 50);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i < first)
      steps[i].phase = Phase::kWarmUp;
    else if (std::abs(steps[i].length_ns - middle) > 5 * spread)
      steps[i].phase = Phase::kIrregular;
  }
}

}  // namespace

std::string_view step_source_name(StepSource source) noexcept {
  switch (source) {
    case StepSource::kNone: return "none";
    case StepSource::kNvtx: return "nvtx";
    case StepSource::kProfilerStep: return "profiler-step";
    case StepSource::kLoop: return "python-loop";
    case StepSource::kPeriodicity: return "periodicity";
  }
  return "none";
}

Phase Steps::phase_at(Nanoseconds t, std::size_t& cursor) const {
  const std::size_t begun =
      search_from(steps.size(), cursor, [&](std::size_t i) { return steps[i].host.begin_ns <= t; });
  if (begun == 0 || !steps[begun - 1].host.contains(t)) return Phase::kOutside;
  return steps[begun - 1].phase;
}

Steps find_steps(const Trace& trace, const Correlation& correlation, std::string_view range) {
  Steps result;
  StepCandidates found = steps_by_ranges(trace, correlation, range);
  if (found.steps.empty() && range.empty()) found = steps_by_loop(trace, correlation);
  if (found.steps.empty() && range.empty()) found = steps_by_period(trace, correlation);
  result.source = found.source;
  result.name = std::move(found.name);
  for (const TimeSpan span : found.steps) result.steps.push_back({span});
  if (result.steps.empty()) return result;
  find_ends(trace, correlation, result.steps);
  find_lengths(result.steps);
  mark_irregular(result.steps, warm_up_of(trace, result.steps));
  return result;
}

StepFigures figures_of(const Steps& steps) {
  StepFigures figures;
  std::vector<Nanoseconds> lengths;
  for (const Step& step : steps.steps) {
    if (step.phase == Phase::kWarmUp) {
      ++figures.warm_up;
      continue;
    }
    if (step.phase == Phase::kIrregular) ++figures.irregular;
    lengths.push_back(step.length_ns);
  }
  figures.count = lengths.size();
  if (lengths.empty()) return figures;
  std::sort(lengths.begin(), lengths.end());
  Nanoseconds sum = 0;
  for (const Nanoseconds length : lengths) sum = add_saturated(sum, length);
  figures.mean_ns = sum / static_cast<Nanoseconds>(lengths.size());
  figures.p50_ns = lengths[(lengths.size() - 1) / 2];
  figures.p99_ns = lengths[(lengths.size() - 1) * 99 / 100];
  return figures;
}

}  // namespace synctrace
