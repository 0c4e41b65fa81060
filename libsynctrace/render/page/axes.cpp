// SPDX-License-Identifier: Apache-2.0
#include "render/page/axes.h"

#include <algorithm>
#include <cstdlib>

#include "base/format_text.h"
#include "base/quantity_text.h"

namespace synctrace::page {
namespace {

// A host starts once in so long at most; what the wall clock is corrected by during a job is less.
constexpr Nanoseconds kSameStartNs = 1'000'000'000;

bool same_host(const TraceClock& a, const TraceClock& b) { return !a.host.empty() && a.host == b.host; }

bool same_clock(const TraceClock& a, const TraceClock& b) {
  return same_host(a, b) && a.lead_ns && b.lead_ns && std::abs(*a.lead_ns - *b.lead_ns) <= kSameStartNs;
}

bool at_once(const TraceClock& a, const TraceClock& b) {
  return a.span.begin_ns <= b.span.end_ns && b.span.begin_ns <= a.span.end_ns;
}

Nanoseconds begin_of(const TraceClock& clock) {
  return clock.on_job ? clock.on_job->common(clock.span.begin_ns) : clock.span.begin_ns;
}

using Group = std::vector<std::size_t>;

bool belong_together(std::span<const TraceClock> clocks, const Group& a, const Group& b) {
  return std::any_of(a.begin(), a.end(), [&](std::size_t one) {
    return std::any_of(b.begin(), b.end(), [&](std::size_t other) {
      if (clocks[one].on_job || clocks[other].on_job) return clocks[one].on_job && clocks[other].on_job;
      return same_clock(clocks[one], clocks[other]) && at_once(clocks[one], clocks[other]);
    });
  });
}

// Any two groups that belong together become one, until there are no such two.
std::vector<Group> groups_of(std::span<const TraceClock> clocks) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    Group grown{i};
    std::erase_if(groups, [&](const Group& group) {
      if (!belong_together(clocks, group, grown)) return false;
      grown.insert(grown.end(), group.begin(), group.end());
      return true;
    });
    std::sort(grown.begin(), grown.end());
    groups.push_back(std::move(grown));
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::string note_of(std::span<const TraceClock> clocks, const Group& first, const Group& group) {
  const TraceClock& clock = clocks[group.front()];
  if (group.size() > 1 && clock.on_job) {
    Nanoseconds residual_ns = 0;
    for (const std::size_t i : group) residual_ns = std::max(residual_ns, clocks[i].on_job->residual_ns);
    return format_text("One axis: the clocks of these {} ranks are aligned by what they did together, to within {}.",
                       group.size(), duration_text(residual_ns));
  }
  if (group.size() > 1)
    return format_text("One axis: these {} processes share the clock of {}.", group.size(), clock.host);
  if (&group == &first) return {};
  const TraceClock& other = clocks[first.front()];
  constexpr std::string_view kOwn = "so it has an axis of its own";
  if (other.on_job)
    return format_text("It did too little with the other ranks to compare its clock with theirs, {}.", kOwn);
  if (clock.host.empty()) return format_text("On which host it ran is not known, {}.", kOwn);
  if (!same_host(clock, other))
    return format_text("It ran on another host ({}), whose clock cannot be compared, {}.", clock.host, kOwn);
  if (!same_clock(clock, other))
    return format_text("The clock of {} counted from another start then, {}.", clock.host, kOwn);
  return format_text("It was recorded at another time, {}.", kOwn);
}

}  // namespace

std::vector<Axis> axes_of(std::span<const TraceClock> clocks) {
  const std::vector<Group> groups = groups_of(clocks);
  std::vector<Axis> axes;
  for (const Group& group : groups) {
    Axis& axis = axes.emplace_back();
    axis.processes = group;
    Nanoseconds begin_ns = begin_of(clocks[group.front()]);
    for (const std::size_t i : group) begin_ns = std::min(begin_ns, begin_of(clocks[i]));
    for (const std::size_t i : group) {
      axis.offsets_ns.push_back(begin_of(clocks[i]) - begin_ns);
      axis.rates.push_back(clocks[i].on_job ? 1 - clocks[i].on_job->drift : 1);
    }
    if (clocks.size() > 1) axis.note = note_of(clocks, groups.front(), group);
  }
  return axes;
}

}  // namespace synctrace::page
