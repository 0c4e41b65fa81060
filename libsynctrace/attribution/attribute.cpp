// SPDX-License-Identifier: Apache-2.0
#include "attribution/attribute.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attribution/device_gaps.h"
#include "attribution/drain_credit.h"
#include "attribution/evidence.h"
#include "attribution/invariants.h"
#include "attribution/walk.h"
#include "base/in_background.h"
#include "base/in_two_stages.h"
#include "steps/phase_search.h"
#include "steps/step_lengths.h"

namespace synctrace {
namespace {

// Returns the Cause::number of the part. Time before a step that follows no other one is not the step's.
std::uint32_t add_part(const Part& part, const PhaseSearch::At& step, const PhaseSearch& steps, CauseTable& table) {
  if (part.span.end_ns <= step.from_ns) return table.add(part, steps.outside(part.span.begin_ns));
  if (part.span.begin_ns >= step.from_ns) return table.add(part, step);
  Part before = part;
  Part after = part;
  before.span.end_ns = after.span.begin_ns = step.from_ns;
  table.add(before, steps.outside(before.span.begin_ns));
  return table.add(after, step);
}

// Idle time belongs to the step that issued the work which ended it. `numbers`: where to note the cause of each part.
void add_up(const Evidence& evidence, PhaseSearch& steps, std::span<const Gap> gaps, std::span<const Part> parts,
            CauseTable& table, std::vector<std::uint32_t>* numbers) {
  auto part = parts.begin();
  for (const Gap& gap : gaps) {
    const PhaseSearch::At step =
        gap.opener == kNoRow ? PhaseSearch::At{} : steps.at(evidence.correlation.issued_ns(gap.opener));
    for (; part != parts.end() && part->span.begin_ns < gap.span.end_ns; ++part) {
      const std::uint32_t number = add_part(*part, step, steps, table);
      if (numbers != nullptr) numbers->push_back(number);
    }
  }
}

// Gaps in a row with their parts, on their way from the walk to the sums.
struct Explained {
  std::vector<Gap> gaps;
  std::vector<Part> parts;
  std::vector<HostTimeline::Neighbours> stretches;  // that the walk has met since the last batch
};

// Walks back from every gap of a device, a batch of gaps at a time.
template <class Give>
void explain_gaps(const Evidence& evidence, DeviceId device, const DeviceRows& operations, Walk& walk, Give&& give) {
  constexpr std::size_t kBatch = 4'096;
  std::size_t known = walk.stretches().size();
  Explained batch;
  const auto hand_over = [&] {
    batch.stretches.assign(walk.stretches().begin() + static_cast<std::ptrdiff_t>(known), walk.stretches().end());
    known = walk.stretches().size();
    give(std::exchange(batch, {}));
    batch.gaps.reserve(kBatch + kBatch / 4);
    batch.parts.reserve(2 * kBatch);
  };
  for_each_gap_group(evidence.trace, evidence.correlation, operations, [&](std::span<const Gap> gaps) {
    batch.gaps.insert(batch.gaps.end(), gaps.begin(), gaps.end());
    walk.explain(device, gaps, batch.parts);
    if (batch.gaps.size() >= kBatch) hand_over();
  });
  hand_over();
}

// The walk is one stage, what its parts add up to the other. Neither waits for the whole of the other's work, so memory
// holds a few thousand parts, not all.
void find_causes(const Evidence& evidence, const AttributeOptions& options, Attribution& result) {
  const HostClassifier classifier(evidence);
  const DeviceWaits waits(evidence, classifier);
  Walk walk(evidence);
  for (const auto& [device, operations] : operations_by_device(evidence.trace)) {
    DrainCredit credit(waits.of(device), evidence.lossy.empty() ? Confidence::kMedium : Confidence::kLow);
    CauseTable table(evidence.trace, result.stretches);
    std::string breach;
    PhaseSearch steps(result.steps, result.other_phases);
    const DeviceId id = device;
    const auto explain = [&, &rows = operations](auto&& give) { explain_gaps(evidence, id, rows, walk, give); };
    in_two_stages<Explained>(operations.size(), explain, [&](Explained batch) {
      result.stretches.insert(result.stretches.end(), batch.stretches.begin(), batch.stretches.end());
      credit.charge(batch.parts);
      if (breach.empty()) breach = check_parts(batch.gaps, batch.parts);
      add_up(evidence, steps, batch.gaps, batch.parts, table, options.keep_parts ? &result.part_causes[id] : nullptr);
      if (options.keep_parts) result.parts[id].insert(result.parts[id].end(), batch.parts.begin(), batch.parts.end());
    });
    result.causes.emplace(device, table.take());
    result.phase_idle.emplace(device, table.take_phases());
    if (!breach.empty()) result.breaches.push_back(std::move(breach));
  }
}

void add_phases(const Trace& trace, const Correlation& correlation, const StepQuestion& question, Attribution& result) {
  StepPhases phases = find_steps(trace, correlation, question);
  result.steps = std::move(phases.chosen);
  result.other_phases = std::move(phases.others);
  result.phase = std::max<std::size_t>(1, question.phase);
}

Attribution explained(const Trace& trace, const AttributeOptions& options, std::optional<Joins> joins) {
  Attribution result;
  result.evidence = std::make_unique<const Evidence>(trace, std::move(joins));
  const Evidence& evidence = *result.evidence;
  auto devices = in_background(trace.operations.size(), [&] { return device_states(trace); });
  result.unmatched_operations = evidence.correlation.unmatched_operations();
  if (options.known_steps != nullptr) {
    result.steps = *options.known_steps;
    std::vector<Step>& steps = result.steps.steps;
    measure_steps(trace, evidence.correlation, axis_of(evidence.correlation, steps), steps);
  } else {
    add_phases(trace, evidence.correlation, options.steps, result);
  }
  result.times = run_times(result.steps, result.other_phases, {trace.first_ns, trace.last_ns});
  for (std::string& breach : check_times(result, {trace.first_ns, trace.last_ns}))
    result.breaches.push_back(std::move(breach));
  result.collectives = collective_times(trace, evidence.correlation, result.steps);
  result.uses = device_uses(trace, result.steps);
  result.devices = devices.get();
  if (trace.has_timeline()) {
    find_causes(evidence, options, result);
    for (std::string& breach : check_sums(result)) result.breaches.push_back(std::move(breach));
  }
  result.judgements = evidence.judgements;
  result.sleeps = evidence.sleeps;
  result.calibration = evidence.calibration;
  return result;
}

}  // namespace

Attribution attribute(const Trace& trace, const AttributeOptions& options) {
  return explained(trace, options, std::nullopt);
}

Attribution attribute(LoadedTrace& loaded, const AttributeOptions& options) {
  return explained(loaded.trace, options, std::exchange(loaded.joins, std::nullopt));
}

}  // namespace synctrace
