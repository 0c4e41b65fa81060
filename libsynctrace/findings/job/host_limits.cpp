// SPDX-License-Identifier: Apache-2.0
#include "findings/job/host_limits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace synctrace {
namespace {

bool is_gpu_work(const JobCause& cause) { return !cause.kernel.empty() || cause.name == "slow-gpu"; }

// What a change makes of ranks' hosts. The rank that others waited for most may be as fast as it likes then; every
// other one has less to do by what it took longer than others.
class ChangedHosts {
 public:
  explicit ChangedHosts(const Job& job) : job_(job), less_ns_(job.ranks.size(), 0) {}

  void add(const JobCause& cause) {
    const bool is_host = !is_gpu_work(cause);
    for (const RankShare& share : cause.ranks) {
      if (share.rank >= less_ns_.size()) continue;
      less_ns_[share.rank] = add_saturated(less_ns_[share.rank], is_host ? share.excess_ns : 0);
      if (is_mostly(share, cause)) free(share.rank);
    }
  }

  void free(std::uint32_t rank) {
    if (rank < less_ns_.size()) less_ns_[rank] = kLatestTime;
  }

  // What is left of the steps beside the busiest host.
  Nanoseconds left_ns(Nanoseconds base_ns) const {
    double busiest = 0;
    for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) {
      const RankSummary& one = job_.ranks[rank];
      if (less_ns_[rank] >= one.host_busy_ns || one.in_steps_ns <= 0) continue;
      busiest = std::max(busiest,
                         static_cast<double>(one.host_busy_ns - less_ns_[rank]) / static_cast<double>(one.in_steps_ns));
    }
    return std::llround(std::clamp(1.0 - busiest, 0.0, 1.0) * static_cast<double>(base_ns));
  }

 private:
  static bool is_mostly(const RankShare& share, const JobCause& cause) {
    return share.waited_ns >= cause.waited_ns - cause.waited_ns / 2;
  }

  const Job& job_;
  std::vector<Nanoseconds> less_ns_;  // by rank
};

Nanoseconds left_ns(const Job& job, const JobReport& report, const JobCause& cause) {
  ChangedHosts hosts(job);
  hosts.add(cause);
  return hosts.left_ns(report.base_ns);
}

// A host may use half of what it has left, or more than was seen: the recorder makes it busier.
void limit(Interval& saving, Nanoseconds most_ns, Nanoseconds base_ns) {
  if (saving.ns <= most_ns) return;
  saving.ns = most_ns;
  saving.lo_ns = std::min(saving.lo_ns, most_ns / 2);
  saving.hi_ns = std::min({saving.hi_ns, most_ns + most_ns / 2, base_ns});
}

void limit_sets(const Job& job, JobReport& report) {
  for (JobCauseSet& set : report.sets) {
    ChangedHosts hosts(job);
    for (std::size_t i = 0; i < report.causes.size(); ++i) {
      if ((set.causes & JobCauseSet::bit_of(i)) != 0) hosts.add(report.causes[i]);
    }
    limit(set.saving, hosts.left_ns(report.base_ns), report.base_ns);
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
  ChangedHosts hosts(job);
  Nanoseconds so_far_ns = 0;
  for (JobCause& cause : report.causes) {
    hosts.add(cause);
    const Nanoseconds together_ns = add_saturated(so_far_ns, std::max<Nanoseconds>(0, cause.saving.ns));
    cause.cumulative_ns = std::max(so_far_ns, std::min(together_ns, hosts.left_ns(report.base_ns)));
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
  ChangedHosts without_late(job);
  without_late.free(report.late);
  report.left_by_hosts_ns = without_late.left_ns(report.base_ns);
  report.alike_ns = std::min(report.alike_ns, report.left_by_hosts_ns);
  const auto most_ns = [&](const JobCause& cause) { return left_ns(job, report, cause); };
  const auto is_too_much = [&](const JobCause& cause) { return cause.saving.ns > most_ns(cause); };
  if (std::none_of(report.causes.begin(), report.causes.end(), is_too_much)) return;
  limit_sets(job, report);
  for (JobCause& cause : report.causes) limit(cause.saving, most_ns(cause), report.base_ns);
  put_in_order(report);
  add_up(job, report);
  const auto first = std::find_if(report.causes.begin(), report.causes.end(),
                                  [&](const JobCause& cause) { return cause.saving.ns == most_ns(cause); });
  if (first != report.causes.end()) report.busy_hosts_ns = report.base_ns - most_ns(*first);
}

void keep_remedies(const Job& job, JobReport& report) {
  for (JobCause& cause : report.causes) {
    if (cause.title.empty() && !is_gpu_work(cause)) cause.saving = Interval();
  }
  put_in_order(report);
  add_up(job, report);
}

}  // namespace synctrace
