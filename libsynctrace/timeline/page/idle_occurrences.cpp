// SPDX-License-Identifier: Apache-2.0
#include "timeline/page/idle_occurrences.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "attribution/attribute.h"
#include "steps/step_lengths.h"

namespace synctrace::page {
namespace {

// The longest of many spans in twice the memory of those kept.
void keep_longest(std::vector<TimeSpan>& spans, std::size_t most) {
  if (spans.size() <= most) return;
  std::nth_element(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(most), spans.end(),
                   [](TimeSpan a, TimeSpan b) { return a.length_ns() > b.length_ns(); });
  spans.resize(most);
}

// Finds the stretch for which half of the time of all lies in shorter ones. It counts the stretches in the most
// ordinary steps, and if these are too many, every second, fourth, eighth... one.
class TypicalStretch {
 public:
  void add(TimeSpan span, std::size_t ordinary) {
    if (ordinary < ordinary_) return;
    if (ordinary > ordinary_) *this = TypicalStretch(ordinary);
    if (seen_++ % stride_ != 0) return;
    kept_.push_back(span);
    if (kept_.size() < kMostKept) return;
    for (std::size_t i = 0; i < kept_.size() / 2; ++i) kept_[i] = kept_[2 * i];
    kept_.resize(kept_.size() / 2);
    stride_ *= 2;
  }

  TimeSpan take() {
    std::sort(kept_.begin(), kept_.end(), [](TimeSpan a, TimeSpan b) {
      return std::tuple(a.length_ns(), a.begin_ns) < std::tuple(b.length_ns(), b.begin_ns);
    });
    Nanoseconds whole_ns = 0;
    for (const TimeSpan span : kept_) whole_ns = add_saturated(whole_ns, span.length_ns());
    Nanoseconds below_ns = 0;
    for (const TimeSpan span : kept_) {
      below_ns = add_saturated(below_ns, span.length_ns());
      if (below_ns >= whole_ns / 2) return span;
    }
    return {};
  }

  TypicalStretch() = default;

 private:
  static constexpr std::size_t kMostKept = 1024;
  explicit TypicalStretch(std::size_t ordinary) : ordinary_(ordinary) {}

  std::size_t ordinary_ = 0;
  std::size_t seen_ = 0;
  std::size_t stride_ = 1;
  std::vector<TimeSpan> kept_;
};

class Counter {
 public:
  Counter(const Trace& trace, const Attribution& attribution) : trace_(trace), attribution_(attribution) {}

  // Parts of one row that follow each other are one stretch.
  void add(const Part& part, CauseOccurrences& row) {
    if (row_ != &row || part.span.begin_ns != stretch_.end_ns) {
      finish();
      row_ = &row;
      stretch_ = part.span;
    }
    stretch_.end_ns = part.span.end_ns;
    if (part.owner == owner_) return;
    owner_ = part.owner;
    if (const std::optional<Nanoseconds> ns = length_of(part.owner)) row.calls.add(*ns);
  }

  void finish() {
    if (row_ == nullptr) return;
    row_->idle.add(stretch_.length_ns());
    const std::size_t ordinary = how_ordinary();
    typical_[row_].add(stretch_, ordinary);
    std::vector<TimeSpan>& kept = ordinary > 0 ? row_->longest : row_->outside;
    kept.push_back(stretch_);
    if (kept.size() >= 2 * kMostOccurrences) keep_longest(kept, kMostOccurrences);
    row_ = nullptr;
  }

  // At the end, once.
  void choose_typical() {
    for (auto& [row, stretch] : typical_) row->typical = stretch.take();
  }

 private:
  // 0: outside of the time that the tables count; 1: in an irregular step, 2: in another. The work that ends a stretch
  // was issued just before, so its end tells the step.
  std::size_t how_ordinary() {
    if (attribution_.steps.steps.empty()) return 2;
    const std::vector<Step>& steps = attribution_.steps.steps;
    const Step* step = step_at(steps, stretch_.end_ns, step_);
    if (step == nullptr || step->kind == StepKind::kWarmUp) return 0;
    // What went on before a step that begins anew is mostly not its doing.
    const bool anew = begins_anew(steps, static_cast<std::size_t>(step - steps.data()));
    if (anew && stretch_.begin_ns < step->host.begin_ns) return 0;
    return step->kind == StepKind::kSteady ? 2 : 1;
  }

  std::optional<Nanoseconds> length_of(Owner owner) const {
    switch (owner.table) {
      case OwnerTable::kCall: {
        const Nanoseconds blocked_ns = attribution_.judgements[owner.row].blocked_ns;
        return blocked_ns > 0 ? blocked_ns : trace_.calls[owner.row].span.length_ns();
      }
      case OwnerTable::kPoll: return trace_.polls[owner.row].span.length_ns();
      case OwnerTable::kHostWait: return trace_.host_waits[owner.row].span.length_ns();
      default: return std::nullopt;
    }
  }

  const Trace& trace_;
  const Attribution& attribution_;
  CauseOccurrences* row_ = nullptr;
  TimeSpan stretch_;
  Owner owner_;
  std::size_t step_ = 0;  // cursor of kind_at
  std::unordered_map<CauseOccurrences*, TypicalStretch> typical_;
};

// By Cause::number, the row that it is part of.
std::vector<CauseOccurrences*> rows_by_number(const DeviceReport& device, DeviceOccurrences& occurrences) {
  std::vector<CauseOccurrences*> rows;
  const auto note = [&](const std::vector<IdleCause>& causes, std::vector<CauseOccurrences>& found) {
    found.resize(causes.size());
    for (std::size_t i = 0; i < causes.size(); ++i) {
      for (const std::uint32_t number : causes[i].numbers) {
        rows.resize(std::max<std::size_t>(rows.size(), number + std::size_t{1}));
        rows[number] = &found[i];
      }
    }
  };
  note(device.causes, occurrences.idle);
  note(device.copy_causes, occurrences.copying);
  return rows;
}

void sort_by_time(std::vector<CauseOccurrences>& rows) {
  for (CauseOccurrences& row : rows) {
    if (row.longest.empty()) row.longest = std::move(row.outside);
    row.outside = {};
    keep_longest(row.longest, kMostOccurrences);
    const auto is_typical = [&](TimeSpan span) { return span.begin_ns == row.typical.begin_ns; };
    if (row.typical.length_ns() > 0 && std::none_of(row.longest.begin(), row.longest.end(), is_typical))
      row.longest.push_back(row.typical);
    std::sort(row.longest.begin(), row.longest.end(), [](TimeSpan a, TimeSpan b) { return a.begin_ns < b.begin_ns; });
  }
}

}  // namespace

void DurationCounts::add(Nanoseconds ns) noexcept {
  ++by_width[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(ns))),
                                   by_width.size() - 1)];
  ++total;
  longest_ns = std::max(longest_ns, ns);
}

std::vector<DeviceOccurrences> find_occurrences(const Trace& trace, const Attribution& attribution,
                                                const Report& report) {
  std::vector<DeviceOccurrences> result(report.devices.size());
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    const std::vector<CauseOccurrences*> rows = rows_by_number(report.devices[i], result[i]);
    const auto parts = attribution.parts.find(DeviceId{report.devices[i].id});
    const auto numbers = attribution.part_causes.find(DeviceId{report.devices[i].id});
    if (parts == attribution.parts.end() || numbers == attribution.part_causes.end()) continue;
    Counter counter(trace, attribution);
    for (std::size_t k = 0; k < std::min(parts->second.size(), numbers->second.size()); ++k) {
      const std::uint32_t number = numbers->second[k];
      if (number < rows.size() && rows[number] != nullptr) counter.add(parts->second[k], *rows[number]);
    }
    counter.finish();
    counter.choose_typical();
    sort_by_time(result[i].idle);
    sort_by_time(result[i].copying);
  }
  return result;
}

}  // namespace synctrace::page
