// SPDX-License-Identifier: Apache-2.0
#include "gate/allow_limits.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/quantity_text.h"

namespace synctrace {
namespace {

using CallsByStep = std::map<std::uint32_t, std::uint64_t>;

// What is wrong with that use of the entry; empty: nothing.
std::string breach_of(const AllowEntry& entry, const CallsByStep& steps) {
  std::uint64_t total = 0;
  std::uint64_t most = 0;
  std::uint64_t closest = UINT64_MAX;
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    total += step->second;
    most = std::max(most, step->second);
    if (step != steps.begin()) closest = std::min<std::uint64_t>(closest, step->first - std::prev(step)->first);
  }
  if (entry.max_per_step && most > *entry.max_per_step) {
    const bool in_steps = steps.begin()->first != kOutsideSteps;
    return "allowed " + count_text(*entry.max_per_step) + " a step, there were " + count_text(most) +
           (in_steps ? "" : " in all");
  }
  if (entry.every_n_steps && closest < *entry.every_n_steps) {
    return "allowed every " + count_text(*entry.every_n_steps) + " steps, it came again after " + count_text(closest);
  }
  if (entry.max_total && total > *entry.max_total) {
    return "allowed " + count_text(*entry.max_total) + " times in all, there were " + count_text(total);
  }
  return {};
}

bool has_limit(const AllowEntry& entry) { return entry.max_per_step || entry.every_n_steps || entry.max_total; }

}  // namespace

AllowLimits::AllowLimits(std::span<const Observation> observations, const AllowBook& book)
    : sentences_(book.entries().size()) {
  for (const Observation& seen : observations) {
    std::map<std::size_t, CallsByStep> used;
    for (const GateCallSite& site : seen.sites) {
      for (std::size_t i = 0; i < site.allowed.size(); ++i) {
        const WaitGroup& group = site.calls.groups[i];
        const std::size_t entry = site.allowed[i];
        if (entry == kNotAllowed || !has_limit(book.entries()[entry])) continue;
        if (group.figures().waited == 0 && !seen.around(group).strict) continue;
        for (const StepWaits& step : group.steps) used[entry][step.step] += step.figures.calls;
      }
    }
    for (const auto& [entry, steps] : used) {
      if (sentences_[entry].empty()) sentences_[entry] = breach_of(book.entries()[entry], steps);
    }
  }
}

}  // namespace synctrace
