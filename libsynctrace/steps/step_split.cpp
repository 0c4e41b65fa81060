// SPDX-License-Identifier: Apache-2.0
#include "steps/step_split.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "steps/step_limits.h"

namespace synctrace {
namespace {

constexpr std::size_t kNoStep = static_cast<std::size_t>(-1);

// Where one kind of kernel is.
struct Presence {
  std::size_t steps = 0;  // that have it
  std::size_t runs = 0;   // runs of such steps
  std::size_t last = kNoStep;
};

bool is_in_runs(const Presence& kind, std::size_t steps) {
  const std::size_t fewer = std::min(kind.steps, steps - kind.steps);
  return ratio(fewer, steps) >= kOtherSort && kind.runs * kShortestRun <= fewer;
}

class Split {
 public:
  Split(const std::vector<ItemRange>& steps, const StepItems& items)
      : steps_(steps), items_(items), presence_(items.kind_count) {}

  // For each step whether it is of the first loop; nothing where there is one loop alone.
  std::optional<std::vector<bool>> run() {
    count();
    const auto first = most([&](std::uint32_t kind) { return is_in_runs(presence_[kind], steps_.size()); });
    if (!first) return std::nullopt;
    const auto second = other_of(*first);
    if (!second) return std::nullopt;
    std::vector<bool> is_first;
    std::vector<bool> is_known;
    for (const ItemRange step : steps_) {
      is_first.push_back(has(step, *first));
      is_known.push_back(is_first.back() || has(step, *second));
    }
    // A step that has neither is of the loop whose step comes before it, or, if none does, of that whose step follows.
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (is_known[i]) continue;
      const bool follows = i > 0 && steps_[i - 1].end == steps_[i].begin;
      const bool goes_before = i + 1 < steps_.size() && steps_[i].end == steps_[i + 1].begin && is_known[i + 1];
      if (!follows && goes_before)
        is_first[i] = static_cast<bool>(is_first[i + 1]);
      else if (i > 0)
        is_first[i] = static_cast<bool>(is_first[i - 1]);
    }
    return is_first;
  }

 private:
  void count() {
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      for (std::size_t i = steps_[step].begin; i < steps_[step].end; ++i) {
        if ((items_.traits[i] & StepItems::kWork) == 0) continue;
        Presence& kind = presence_[items_.kinds[i]];
        if (kind.last == step) continue;
        ++kind.steps;
        if (kind.last == kNoStep || kind.last + 1 < step) ++kind.runs;
        kind.last = step;
      }
    }
  }

  // The kind in most steps among those that fit.
  std::optional<std::uint32_t> most(auto&& fits) const {
    std::optional<std::uint32_t> best;
    for (std::uint32_t kind = 0; kind < presence_.size(); ++kind) {
      if ((!best || presence_[kind].steps > presence_[*best].steps) && fits(kind)) best = kind;
    }
    return best;
  }

  // A kind that nearly all steps without the first have, and hardly one with it.
  std::optional<std::uint32_t> other_of(std::uint32_t first) const {
    std::vector<std::size_t> with_first(presence_.size());
    std::vector<std::size_t> last(presence_.size(), kNoStep);
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      if (!has(steps_[step], first)) continue;
      for (std::size_t i = steps_[step].begin; i < steps_[step].end; ++i) {
        const std::uint32_t kind = items_.kinds[i];
        if (std::exchange(last[kind], step) != step) ++with_first[kind];
      }
    }
    const std::size_t both = presence_[first].steps;
    const std::size_t others = steps_.size() - both;
    return most([&](std::uint32_t kind) {
      const Presence& one = presence_[kind];
      return is_in_runs(one, steps_.size()) && ratio(with_first[kind], both) <= kHardlyAny &&
             ratio(one.steps - with_first[kind], others) >= kNearlyAll;
    });
  }

  bool has(ItemRange step, std::uint32_t kind) const {
    const auto at = [&](std::size_t item) { return items_.kinds.begin() + static_cast<std::ptrdiff_t>(item); };
    return std::find(at(step.begin), at(step.end), kind) != at(step.end);
  }

  const std::vector<ItemRange>& steps_;
  const StepItems& items_;
  std::vector<Presence> presence_;
};

}  // namespace

Steps steps_of(const StepItems& items, const std::vector<ItemRange>& steps) {
  Steps result;
  result.source = StepSource::kPeriodicity;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ItemRange step = steps[i];
    const bool touches = i + 1 < steps.size() && steps[i + 1].begin == step.end;
    const Nanoseconds next_ns = step.end < items.size() ? items.times_ns[step.end] : kLatestTime;
    const Nanoseconds own_end_ns = std::max(items.end_ns(step.end - 1), items.times_ns[step.end - 1] + 1);
    const Nanoseconds end_ns = touches ? next_ns : std::min(own_end_ns, next_ns);
    if (items.times_ns[step.begin] < end_ns) result.steps.push_back({{items.times_ns[step.begin], end_ns}});
  }
  return result;
}

std::vector<ItemRange> left_over(const std::vector<ItemRange>& ranges, const std::vector<ItemRange>& steps) {
  std::vector<ItemRange> result;
  auto step = steps.begin();
  std::size_t at = 0;
  for (const ItemRange range : ranges) {
    at = std::max(at, range.begin);
    for (; step != steps.end() && step->begin < range.end; ++step) {
      if (step->begin > at) result.push_back({at, step->begin});
      at = std::max(at, step->end);
    }
    if (at < range.end) result.push_back({at, range.end});
  }
  return result;
}

std::vector<ItemRange> steps_of_one_loop(std::vector<ItemRange> steps, const StepItems& items, StepLooks& looks) {
  const auto is_first = Split(steps, items).run();
  if (!is_first) return steps;
  std::vector<ItemRange> loops[2];
  for (std::size_t i = 0; i < steps.size(); ++i) loops[(*is_first)[i] ? 0 : 1].push_back(steps[i]);
  if (looks.are_of_one_loop(steps_of(items, loops[0]), steps_of(items, loops[1]), items)) return steps;
  return std::move(loops[loops[0].size() >= loops[1].size() ? 0 : 1]);
}

}  // namespace synctrace
