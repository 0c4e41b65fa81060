// SPDX-License-Identifier: Apache-2.0
#include "steps/step_lengths.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "base/search_from.h"
#include "steps/step_limits.h"

namespace synctrace {
namespace {

Nanoseconds median(std::vector<Nanoseconds> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Whether the host made a call in it whose category `is` accepts.
template <class Is>
bool has_call(const Trace& trace, const Step& step, Is&& is) {
  auto call = std::lower_bound(trace.calls.begin(), trace.calls.end(), step.host.begin_ns,
                               [](const Call& row, Nanoseconds t) { return row.span.begin_ns < t; });
  for (; call != trace.calls.end() && call->span.begin_ns < step.host.end_ns; ++call) {
    if (is(call->category)) return true;
  }
  return false;
}

}  // namespace

// Code is loaded once: steps that were long because of it do not come again in a longer run.
bool loads_code(const Trace& trace, const Step& step) {
  return has_call(trace, step, [](ApiCategory category) {
    return category == ApiCategory::kModule || category == ApiCategory::kContext;
  });
}

namespace {

bool sets_up(const Trace& trace, const Step& step) {
  return loads_code(trace, step) || has_call(trace, step, [](ApiCategory category) {
           return category == ApiCategory::kGraph || category == ApiCategory::kAlloc;
         });
}

// Lengths that are usual among some steps.
class UsualLength {
 public:
  UsualLength(const Trace& trace, std::span<const Step> steps) {
    std::vector<Nanoseconds> off;
    for (const Step& step : steps) off.push_back(step.length_ns);
    middle_ns_ = median(off);
    for (Nanoseconds& length : off) length = std::abs(length - middle_ns_);
    // Where steps hardly differ, a few per cent are still ordinary.
    limit_ns_ = kOrdinarySpreads * std::max(kSpreadOfMedian.of(median(off)), kLeastSpread.of(middle_ns_));
    for (;;) {
      // What holds up two steps in a row, as a copy and the host's work on it do, comes once.
      std::size_t pairs = 0;
      off.clear();
      bool is_second = false;
      for (const Step& step : steps) {
        const bool is_off = !has(step) && !loads_code(trace, step);
        pairs += is_off && is_second ? 1U : 0U;
        is_second = is_off && !is_second;
        if (is_off) off.push_back(std::abs(step.length_ns - middle_ns_));
      }
      const bool are_pairs = ratio(pairs + pairs, off.size()) >= kNearlyAll;
      const std::size_t times = off.size() - (are_pairs ? pairs : 0);
      if (off.size() < kFewestOfRecurring || ratio(times, steps.size()) <= kRecurring) return;
      limit_ns_ = kOrdinarySpreads * median(off);  // lengths that recur are usual; a hole far beyond them is not
    }
  }

  bool has(const Step& step) const noexcept { return std::abs(step.length_ns - middle_ns_) <= limit_ns_; }

 private:
  Nanoseconds middle_ns_ = 0;
  Nanoseconds limit_ns_ = 0;
};

// The warm-up: leading steps that set something up, at most half of all. Then come the fewest further steps behind
// which the mean is known well enough, or as many as make it surest (the rule called MSER: least variance of the mean).
// Steps unlike those of the run's second half do not count in the mean: a hole in the middle makes no warm-up before
// it.
std::size_t warm_up_of(const Trace& trace, const std::vector<Step>& steps) {
  const std::size_t most = kMostWarmUp.of(steps.size());
  const UsualLength usual(trace, std::span(steps).subspan(most));
  std::size_t first = 0;
  while (first < most && sets_up(trace, steps[first])) ++first;
  if (first == most) first = 0;  // it does so all the time
  double sum = 0;
  double squares = 0;
  double n = 0;
  std::vector<double> errors(most + 1, -1);  // squared relative error of the mean from there on
  for (std::size_t i = steps.size(); i-- > first;) {
    if (!usual.has(steps[i])) continue;
    const double length = static_cast<double>(steps[i].length_ns);
    sum += length;
    squares += length * length;
    ++n;
    if (i > most || n < 2 || sum <= 0) continue;
    errors[i] = std::max(0.0, squares * n / (sum * sum) - 1) / n;
  }
  double best = kSureEnough.fraction() * kSureEnough.fraction();
  for (std::size_t pass = 0; pass < 2; ++pass) {
    double least = -1;
    for (std::size_t i = first; i <= most; ++i) {
      if (errors[i] < 0) continue;
      if (errors[i] <= best) return i;
      if (least < 0 || errors[i] < least) least = errors[i];
    }
    best = least;
  }
  return first;
}

}  // namespace

bool begins_anew(const std::vector<Step>& steps, std::size_t index) noexcept {
  return index == 0 || steps[index - 1].host.end_ns < steps[index].host.begin_ns;
}

const Step* step_at(const std::vector<Step>& steps, Nanoseconds t, std::size_t& cursor) {
  const std::size_t begun =
      search_from(steps.size(), cursor, [&](std::size_t i) { return steps[i].host.begin_ns <= t; });
  return begun == 0 || !steps[begun - 1].host.contains(t) ? nullptr : &steps[begun - 1];
}

StepAxis axis_of(const Correlation& correlation, const std::vector<Step>& steps) {
  const std::span<const std::uint32_t> rows = correlation.by_issue();
  auto row = rows.begin();
  for (const Step& step : steps) {
    while (row != rows.end() && correlation.issued_ns(*row) < step.host.begin_ns) ++row;
    if (row == rows.end() || correlation.issued_ns(*row) >= step.host.end_ns) return StepAxis::kHost;
  }
  return StepAxis::kDevice;
}

void measure_steps(const Trace& trace, const Correlation& correlation, StepAxis axis, std::vector<Step>& steps) {
  const std::span<const std::uint32_t> rows = correlation.by_issue();
  auto row = rows.begin();
  Nanoseconds latest_ns = kNeverNs;  // the end of all work issued so far
  const auto issue_until = [&](Nanoseconds end_ns) {
    bool any = false;
    for (; row != rows.end() && correlation.issued_ns(*row) < end_ns; ++row, any = true)
      latest_ns = std::max(latest_ns, trace.operations[*row].span.end_ns);
    return any;
  };
  Nanoseconds end_ns = kNeverNs;  // the end of the step before
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step& step = steps[i];
    issue_until(step.host.begin_ns);
    const Nanoseconds from_ns = std::max(end_ns, latest_ns);
    step.from_ns = begins_anew(steps, i) ? std::max(step.host.begin_ns, from_ns) : from_ns;
    const bool works = issue_until(step.host.end_ns);
    step.done_ns = works ? latest_ns : 0;
    end_ns = std::max(step.from_ns, works ? latest_ns : step.host.end_ns);
    step.length_ns = end_ns - step.from_ns;
    if (axis == StepAxis::kDevice) continue;
    step.from_ns = step.host.begin_ns;
    step.length_ns = step.host.length_ns();
  }
}

void judge_steps(const Trace& trace, std::vector<Step>& steps) {
  if (steps.empty()) return;
  const std::size_t first = warm_up_of(trace, steps);
  const UsualLength usual(trace, std::span(steps).subspan(first));
  std::map<std::uint8_t, std::vector<Step>> classes;
  for (std::size_t i = first; i < steps.size(); ++i) {
    if (steps[i].of_class != kNoClass) classes[steps[i].of_class].push_back(steps[i]);
  }
  std::map<std::uint8_t, UsualLength> usual_of;
  for (const auto& [its, own] : classes) {
    if (own.size() >= kStepsForSure) usual_of.emplace(its, UsualLength(trace, own));
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto own = usual_of.find(steps[i].of_class);
    const bool is_usual = (own == usual_of.end() ? usual : own->second).has(steps[i]);
    steps[i].kind = i < first ? StepKind::kWarmUp : is_usual ? StepKind::kSteady : StepKind::kIrregular;
  }
}

}  // namespace synctrace
