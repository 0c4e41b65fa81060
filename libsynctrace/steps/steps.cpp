// SPDX-License-Identifier: Apache-2.0
#include "steps/steps.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/shares.h"
#include "steps/step_candidates.h"
#include "steps/step_lengths.h"

namespace synctrace {

std::string_view step_source_name(StepSource source) noexcept {
  switch (source) {
    case StepSource::kNone: return "none";
    case StepSource::kNvtx: return "nvtx";
    case StepSource::kProfilerStep: return "profiler-step";
    case StepSource::kLoop: return "python-loop";
    case StepSource::kPeriodicity: return "periodicity";
    case StepSource::kLine: return "line";
  }
  return "none";
}

std::string_view step_confidence_name(StepConfidence confidence) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"low", "medium", "high"};
  return kNames[number(confidence)];
}

StepKind Steps::kind_at(Nanoseconds t, std::size_t& cursor) const {
  const Step* step = step_at(steps, t, cursor);
  return step == nullptr ? StepKind::kOutside : step->kind;
}

void measure_steps(const Trace& trace, const Correlation& correlation, Steps& steps) {
  measure_steps(trace, correlation, axis_of(correlation, steps.steps), steps.steps);
  judge_steps(trace, steps.steps);
}

StepFigures figures_of(const Steps& steps) {
  StepFigures figures;
  std::vector<Nanoseconds> lengths;
  for (const Step& step : steps.steps) {
    if (step.kind == StepKind::kWarmUp) {
      ++figures.warm_up;
      continue;
    }
    if (step.kind == StepKind::kIrregular) ++figures.irregular;
    lengths.push_back(step.length_ns);
  }
  figures.count = lengths.size();
  if (lengths.empty()) return figures;
  std::sort(lengths.begin(), lengths.end());
  Nanoseconds sum = 0;
  for (const Nanoseconds length : lengths) sum = add_saturated(sum, length);
  figures.mean_ns = sum / static_cast<Nanoseconds>(lengths.size());
  figures.p50_ns = lengths[(lengths.size() - 1) / 2];
  figures.p99_ns = lengths[percent(99).of(lengths.size() - 1)];
  return figures;
}

std::vector<ClassFigures> class_figures_of(const Steps& steps) {
  std::vector<ClassFigures> classes;
  for (std::size_t i = 0; i < steps.classes.size(); ++i) {
    Steps own;
    std::copy_if(steps.steps.begin(), steps.steps.end(), std::back_inserter(own.steps),
                 [&](const Step& step) { return step.of_class == i; });
    const StepFigures figures = figures_of(own);
    classes.push_back({steps.classes[i], figures.count, figures.mean_ns, figures.p50_ns, 0});
    for (const Step& step : own.steps) {
      if (step.kind != StepKind::kWarmUp) classes[i].time_ns = add_saturated(classes[i].time_ns, step.length_ns);
    }
  }
  return classes;
}

}  // namespace synctrace
