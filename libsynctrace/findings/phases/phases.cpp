// SPDX-License-Identifier: Apache-2.0
#include "findings/phases/phases.h"

#include <algorithm>
#include <span>
#include <utility>

#include "attribution/attribute.h"
#include "base/shares.h"
#include "base/shown_text.h"
#include "model/trace.h"

namespace synctrace {
namespace {

constexpr Share kWorthNaming = percent(2);  // a phase between steps has a line from this share of the recording on

// Idle time of the verdict's device by phase.
class PhaseIdleTimes {
 public:
  PhaseIdleTimes(const Attribution& attribution, const Report& report) {
    const auto device = std::find_if(report.devices.begin(), report.devices.end(),
                                     [&](const DeviceReport& each) { return each.id == report.verdict.device; });
    if (device == report.devices.end() || !report.has_timeline) return;
    causes_ = device->causes;
    for (std::uint32_t i = 0; i < causes_.size(); ++i) {
      for (const std::uint32_t number : causes_[i].numbers) {
        if (number >= row_of_.size()) row_of_.resize(number + 1);
        row_of_[number] = i;
      }
    }
    const auto idle = attribution.phase_idle.find(DeviceId{device->id});
    if (idle != attribution.phase_idle.end()) rows_ = idle->second;
  }

  void add_reported(RunPart& part) const {
    for (const IdleCause& cause : causes_) add(cause, cause.steady_ns + cause.irregular_ns, part);
  }

  void add_other(std::uint32_t phase, RunPart& part) const {
    std::vector<Nanoseconds> idle_ns(causes_.size());
    for (const PhaseIdle& row : rows_) {
      if (row.phase == phase && row.cause < row_of_.size()) idle_ns[row_of_[row.cause]] += row.idle_ns;
    }
    for (std::size_t i = 0; i < causes_.size(); ++i) add(causes_[i], idle_ns[i], part);
  }

 private:
  static void add(const IdleCause& cause, Nanoseconds idle_ns, RunPart& part) {
    part.idle_ns = add_saturated(part.idle_ns, idle_ns);
    if (is_edge(cause.kind) || idle_ns <= (part.worst ? part.worst->idle_ns : 0)) return;
    const SourceLine& where = cause.where;
    part.worst = {cause.rule, cause.name, {where.file, where.line, where.function, {}, {}, where.through}, idle_ns};
  }

  std::span<const IdleCause> causes_;
  std::vector<std::uint32_t> row_of_;  // by Cause::number
  std::span<const PhaseIdle> rows_;
};

PhaseReport phase_report(const Steps& steps, std::size_t number, bool reported) {
  PhaseReport phase;
  phase.number = number;
  phase.reported = reported;
  phase.source = step_source_name(steps.source);
  phase.where.file = printable(steps.where.file);
  phase.where.line = steps.where.line;
  phase.where.function = printable(steps.name);
  phase.figures = figures_of(steps);
  for (const Step& step : steps.steps) {
    if (step.kind != StepKind::kWarmUp) phase.part.time_ns = add_saturated(phase.part.time_ns, step.length_ns);
  }
  return phase;
}

}  // namespace

void add_phases(const Attribution& attribution, Report& report) {
  report.times = attribution.times;
  const std::vector<Steps>& others = attribution.other_phases;
  const PhaseIdleTimes idle(attribution, report);
  const bool is_there = !attribution.steps.steps.empty();
  if (is_there) {
    report.phases.push_back(phase_report(attribution.steps, attribution.phase, true));
    idle.add_reported(report.phases.back().part);
  }
  for (std::uint32_t i = 0; i < others.size(); ++i) {
    const std::size_t before = is_there && i + 1 >= attribution.phase ? 1 : 0;
    report.phases.push_back(phase_report(others[i], i + 1 + before, false));
    idle.add_other(i, report.phases.back().part);
  }
  RunPart between;
  between.time_ns = attribution.times.between_ns;
  if (between.time_ns == 0 || ratio(between.time_ns, report.recorded_ns) < kWorthNaming) return;
  idle.add_other(static_cast<std::uint32_t>(others.size()), between);
  report.between_steps = std::move(between);
}

}  // namespace synctrace
