// SPDX-License-Identifier: Apache-2.0
#include "findings/job/host_limits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace synctrace {
namespace {

// What is left of the steps beside the busiest host of a rank that is none of these.
Nanoseconds left_ns(const Job& job, const JobReport& report, std::span<const RankShare> changed) {
  double busiest = 0;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    const RankSummary& one = job.ranks[rank];
    const bool is_changed =
        std::any_of(changed.begin(), changed.end(), [&](const RankShare& share) { return share.rank == rank; });
    if (is_changed || one.in_steps_ns <= 0) continue;
    busiest = std::max(busiest, static_cast<double>(one.host_busy_ns) / static_cast<double>(one.in_steps_ns));
  }
  return std::llround(std::clamp(1.0 - busiest, 0.0, 1.0) * static_cast<double>(report.base_ns));
}

// A host may use half of what it has left, or more than was seen: the recorder makes it busier.
void limit(Interval& saving, Nanoseconds most_ns) {
  if (saving.ns <= most_ns) return;
  saving.ns = most_ns;
  saving.lo_ns = std::min(saving.lo_ns, most_ns / 2);
  saving.hi_ns = std::min(saving.hi_ns, most_ns + most_ns / 2);
}

void limit_sets(const Job& job, JobReport& report) {
  for (JobCauseSet& set : report.sets) {
    std::vector<RankShare> ranks;
    for (std::size_t i = 0; i < report.causes.size(); ++i) {
      if ((set.causes & JobCauseSet::bit_of(i)) == 0) continue;
      ranks.insert(ranks.end(), report.causes[i].ranks.begin(), report.causes[i].ranks.end());
    }
    limit(set.saving, left_ns(job, report, ranks));
  }
}

// The largest saving first again.
void put_in_order(JobReport& report) {
  std::vector<std::size_t> order(report.causes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const JobCause &first = report.causes[a], &second = report.causes[b];
    return varies(first) != varies(second) ? varies(second) : first.saving.ns > second.saving.ns;
  });
  std::vector<JobCause> causes;
  for (const std::size_t place : order) causes.push_back(std::move(report.causes[place]));
  report.causes = std::move(causes);
  for (JobCauseSet& set : report.sets) {
    const std::uint64_t before = std::exchange(set.causes, 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if ((before & JobCauseSet::bit_of(order[i])) != 0) set.causes |= JobCauseSet::bit_of(i);
    }
  }
}

// No more than they save one by one, and than hosts leave.
void add_up(const Job& job, JobReport& report) {
  std::vector<RankShare> changed;
  Nanoseconds so_far_ns = 0;
  for (JobCause& cause : report.causes) {
    changed.insert(changed.end(), cause.ranks.begin(), cause.ranks.end());
    const Nanoseconds together_ns = add_saturated(so_far_ns, std::max<Nanoseconds>(0, cause.saving.ns));
    cause.cumulative_ns = std::max(so_far_ns, std::min(together_ns, left_ns(job, report, changed)));
    cause.adds_nothing = cause.cumulative_ns == so_far_ns;
    so_far_ns = cause.cumulative_ns;
  }
}

}  // namespace

double slow_host_of(const Job& job, std::uint32_t late) {
  std::vector<HostPace> others;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    if (rank != late) others.push_back(job.ranks[rank].host_pace);
  }
  return late < job.ranks.size() ? slower_host(job.ranks[late].host_pace, others) : 0;
}

void limit_by_hosts(const Job& job, JobReport& report) {
  if (!report.by_steps) return;
  const RankShare late{report.late, 0};
  report.alike_ns = std::min(report.alike_ns, left_ns(job, report, std::span(&late, 1)));
  const auto most_ns = [&](const JobCause& cause) { return left_ns(job, report, cause.ranks); };
  const auto is_too_much = [&](const JobCause& cause) { return cause.saving.ns > most_ns(cause); };
  if (std::none_of(report.causes.begin(), report.causes.end(), is_too_much)) return;
  limit_sets(job, report);
  for (JobCause& cause : report.causes) limit(cause.saving, most_ns(cause));
  put_in_order(report);
  add_up(job, report);
  const auto first = std::find_if(report.causes.begin(), report.causes.end(),
                                  [&](const JobCause& cause) { return cause.saving.ns == most_ns(cause); });
  if (first != report.causes.end()) report.busy_hosts_ns = report.base_ns - most_ns(*first);
}

}  // namespace synctrace
