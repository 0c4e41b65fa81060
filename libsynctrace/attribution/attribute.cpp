// SPDX-License-Identifier: Apache-2.0
#include "attribution/attribute.h"

#include <utility>

#include "attribution/device_gaps.h"
#include "attribution/drain_credit.h"
#include "attribution/evidence.h"
#include "attribution/invariants.h"
#include "attribution/walk.h"
#include "base/in_background.h"
#include "base/in_two_stages.h"

namespace synctrace {
namespace {

// Idle time belongs to the step that issued the work which ended it. `numbers`: where to note the cause of each part.
void add_up(const Evidence& evidence, const Steps& steps, std::size_t& cursor, std::span<const Gap> gaps,
            std::span<const Part> parts, CauseTable& table, std::vector<std::uint32_t>* numbers) {
  auto part = parts.begin();
  for (const Gap& gap : gaps) {
    const Phase phase =
        gap.opener == kNoRow ? Phase::kOutside : steps.phase_at(evidence.correlation.issued_ns(gap.opener), cursor);
    for (; part != parts.end() && part->span.begin_ns < gap.span.end_ns; ++part) {
      const std::uint32_t number = table.add(*part, phase);
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
void explain_gaps(const Evidence& evidence, DeviceId device, const std::vector<std::uint32_t>& operations, Walk& walk,
                  Give&& give) {
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
    const std::vector<Part>& parts = walk.explain(device, gaps);
    batch.gaps.insert(batch.gaps.end(), gaps.begin(), gaps.end());
    batch.parts.insert(batch.parts.end(), parts.begin(), parts.end());
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
    std::size_t step = 0;
    const DeviceId id = device;
    const auto explain = [&, &rows = operations](auto&& give) { explain_gaps(evidence, id, rows, walk, give); };
    in_two_stages<Explained>(operations.size(), explain, [&](Explained batch) {
      result.stretches.insert(result.stretches.end(), batch.stretches.begin(), batch.stretches.end());
      credit.charge(batch.parts);
      if (breach.empty()) breach = check_parts(batch.gaps, batch.parts);
      add_up(evidence, result.steps, step, batch.gaps, batch.parts, table,
             options.keep_parts ? &result.part_causes[id] : nullptr);
      if (options.keep_parts) result.parts[id].insert(result.parts[id].end(), batch.parts.begin(), batch.parts.end());
    });
    result.causes.emplace(device, table.take());
    if (!breach.empty()) result.breaches.push_back(std::move(breach));
  }
}

}  // namespace

Attribution attribute(const Trace& trace, const AttributeOptions& options, std::optional<Joins> joins) {
  Attribution result;
  auto devices = in_background(trace.operations.size(), [&] { return device_states(trace); });
  result.evidence = std::make_unique<const Evidence>(trace, std::move(joins));
  const Evidence& evidence = *result.evidence;
  result.devices = devices.get();
  result.unmatched_operations = evidence.correlation.unmatched_operations();
  result.steps = find_steps(trace, evidence.correlation, options.step_range);
  if (trace.has_timeline()) {
    find_causes(evidence, options, result);
    for (std::string& breach : check_sums(result)) result.breaches.push_back(std::move(breach));
  }
  result.judgements = evidence.judgements;
  result.sleeps = evidence.sleeps;
  result.calibration = evidence.calibration;
  return result;
}

}  // namespace synctrace
