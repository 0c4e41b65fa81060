// SPDX-License-Identifier: Apache-2.0
// The program's steps, its phases, and what lies between steps.
#include "render/json_parts.h"

namespace synctrace::json {
namespace {

Json irregular_json(const IrregularStep& step) {
  return {{"index", step.index}, {"begin_ns", step.begin_ns}, {"length_ns", step.length_ns}};
}

Json class_json(const ClassFigures& one) {
  return {{"name", one.name},
          {"count", one.count},
          {"mean_ns", one.mean_ns},
          {"p50_ns", one.p50_ns},
          {"time_ns", one.time_ns}};
}

Json worst_cause_json(const std::optional<WorstCause>& worst) {
  if (!worst) return nullptr;
  return {{"rule", rule_or_null(worst->rule)},
          {"name", worst->name},
          {"file", text_or_null(worst->where.file)},
          {"line", line_or_null(worst->where.line)},
          {"idle_ns", worst->idle_ns}};
}

double share_of(const Report& report, Nanoseconds ns) {
  return report.recorded_ns <= 0 ? 0 : static_cast<double>(ns) / static_cast<double>(report.recorded_ns);
}

Json phase_json(const Report& report, const PhaseReport& phase) {
  return {{"number", phase.number},
          {"reported", phase.reported},
          {"name", text_or_null(phase.where.function)},
          {"file", text_or_null(phase.where.file)},
          {"line", line_or_null(phase.where.line)},
          {"source", phase.source},
          {"steps", phase.figures.count + phase.figures.warm_up},
          {"time_ns", phase.part.time_ns},
          {"share", share_of(report, phase.part.time_ns)},
          {"p50_ns", phase.figures.p50_ns},
          {"idle_ns", report.has_timeline ? Json(phase.part.idle_ns) : Json(nullptr)},
          {"worst_cause", worst_cause_json(phase.part.worst)}};
}

}  // namespace

Json between_steps_json(const Report& report) {
  if (!report.between_steps) return nullptr;
  const RunPart& between = *report.between_steps;
  return {{"time_ns", between.time_ns},
          {"share", share_of(report, between.time_ns)},
          {"idle_ns", report.has_timeline ? Json(between.idle_ns) : Json(nullptr)},
          {"worst_cause", worst_cause_json(between.worst)}};
}

Json times_json(const Report& report) {
  const RunTimes& times = report.times;
  return {{"before_ns", times.before_ns},       {"warm_up_ns", times.warm_up_ns},
          {"ordinary_ns", times.ordinary_ns},   {"irregular_ns", times.irregular_ns},
          {"other_phases_ns", times.others_ns}, {"between_ns", times.between_ns},
          {"after_ns", times.after_ns},         {"recorded_ns", report.recorded_ns}};
}

Json steps_json(const StepsReport& steps) {
  const bool any = steps.figures.count > 0;
  Json where = nullptr;
  if (steps.where.line > 0) where = {{"file", text_or_null(steps.where.file)}, {"line", steps.where.line}};
  const auto time = [&](Nanoseconds ns) { return any ? Json(ns) : Json(nullptr); };
  return {{"count", steps.figures.count},
          {"mean_ns", time(steps.figures.mean_ns)},
          {"p50_ns", time(steps.figures.p50_ns)},
          {"p99_ns", time(steps.figures.p99_ns)},
          {"source", steps.source},
          {"name", text_or_null(steps.name)},
          {"where", std::move(where)},
          {"confidence", any ? Json(step_confidence_name(steps.confidence)) : Json(nullptr)},
          {"doubt", text_or_null(steps.doubt)},
          {"micro_steps", steps.micro_steps},
          {"classes", array_of(steps.classes, class_json)},
          {"irregular_count", steps.figures.irregular},
          {"warm_up_count", steps.figures.warm_up},
          {"ordinary_mean_ns", time(steps.ordinary_mean_ns)},
          {"irregular_mean_ns", steps.figures.irregular > 0 ? Json(steps.irregular_mean_ns) : Json(nullptr)},
          {"irregular", array_of(steps.irregular, irregular_json)}};
}

Json phases_json(const Report& report) {
  return array_of(report.phases, [&](const PhaseReport& phase) { return phase_json(report, phase); });
}

}  // namespace synctrace::json
