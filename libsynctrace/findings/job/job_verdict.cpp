// SPDX-License-Identifier: Apache-2.0
#include "findings/job/job_verdict.h"

#include <algorithm>
#include <map>

#include "base/shares.h"

namespace synctrace {
namespace {

// Four H200: hosts of ranks that wait for one are busy for 61 % at most, those of jobs bound by hosts for 72 % and
// more.
constexpr Share kBusyHost = percent(67);
constexpr Nanoseconds kBusyShare = 10;  // the limit for one rank too: a GPU that lacks work for less binds the program

void add_means(JobReport& report) {
  Nanoseconds devices = 0;
  for (const JobRank& rank : report.ranks) {
    for (const JobDevice& device : rank.devices) {
      report.mean_whole_ns = add_saturated(report.mean_whole_ns, device.in_steps.whole_ns);
      report.mean_waiting_ns = add_saturated(report.mean_waiting_ns, device.in_steps.waiting_ns);
      report.mean_transfer_ns = add_saturated(report.mean_transfer_ns, device.in_steps.transfer_ns);
      report.mean_unsplit_ns = add_saturated(report.mean_unsplit_ns, device.in_steps.unsplit_ns);
      ++devices;
    }
  }
  if (devices == 0) return;
  report.mean_whole_ns /= devices;
  report.mean_waiting_ns /= devices;
  report.mean_transfer_ns /= devices;
  report.mean_unsplit_ns /= devices;
}

// The largest charge's share of all. A rank that has half of it, and twice what any other has, holds the others up by
// itself.
void find_late(const std::vector<RankCharge>& charges, bool some_are_missing, JobReport& report) {
  if (charges.empty()) return;
  Nanoseconds all_ns = 0;
  for (const RankCharge& one : charges) all_ns = add_saturated(all_ns, one.waited_ns);
  const RankCharge& most = charges.front();
  report.late = most.rank;
  report.late_share_ns = most.waited_ns;
  const Nanoseconds next_ns = charges.size() > 1 ? charges[1].waited_ns : 0;
  if (most.rank == kNoRank)
    report.shape = some_are_missing ? JobShape::kMissing : JobShape::kNotKnown;
  else
    report.shape =
        most.waited_ns >= all_ns / 2 && most.waited_ns / 2 >= next_ns ? JobShape::kOneRank : JobShape::kInTurn;
}

// Kernels that take longer now on one rank, now on another, are nobody's. They are no reason to name a rank.
void find_late_by_causes(JobReport& report) {
  std::map<std::uint32_t, Nanoseconds> by_rank;
  for (const JobCause& cause : report.causes) {
    if (varies(cause)) continue;
    for (const RankShare& one : cause.ranks) by_rank[one.rank] = add_saturated(by_rank[one.rank], one.waited_ns);
  }
  std::vector<RankCharge> charges;
  for (const auto& [rank, waited_ns] : by_rank) charges.push_back({rank, waited_ns, 0, 0});
  std::stable_sort(charges.begin(), charges.end(),
                   [](const RankCharge& a, const RankCharge& b) { return a.waited_ns > b.waited_ns; });
  find_late(charges, false, report);
}

// What would go if no rank were late, without what varies. A slower GPU is in all of its kernels.
Nanoseconds held_by_causes_ns(const JobReport& report) {
  if (report.slow_gpu > 0) return report.alike_ns;
  Nanoseconds largest_ns = 0;
  Nanoseconds sum_ns = 0;
  for (const JobCause& cause : report.causes) {
    if (varies(cause)) continue;
    largest_ns = std::max(largest_ns, cause.saving.ns);
    sum_ns = add_saturated(sum_ns, std::max<Nanoseconds>(0, cause.saving.ns));
  }
  return std::max(largest_ns, std::min(sum_ns, report.alike_ns));
}

// The hosts of all ranks are busy, and what another late rank leaves is little beside what GPUs wait.
bool hosts_bind(const JobReport& report) {
  if (report.mean_waiting_ns < report.mean_whole_ns / kBusyShare ||
      report.left_by_hosts_ns >= report.mean_waiting_ns / 2)
    return false;
  return std::all_of(report.ranks.begin(), report.ranks.end(), [](const JobRank& rank) {
    return ratio(rank.host_busy_ns, std::max<Nanoseconds>(1, rank.step_ns)) >= kBusyHost;
  });
}

}  // namespace

void find_late_rank(const Job& job, const std::vector<RankCharge>& charges, JobReport& report) {
  add_means(report);
  report.alike_ns = std::max<Nanoseconds>(0, job.replay.saving(job.replay.all_alike()));
  const bool some_are_missing = std::any_of(job.match.communicators.begin(), job.match.communicators.end(),
                                            [](const JobCommunicator& one) { return one.ranks > one.traces.size(); });
  find_late(charges, some_are_missing, report);
}

void judge_job(JobReport& report) {
  // Where it is known who is late, by what would go if nobody were: stages of a pipeline wait though all are alike.
  const bool is_known = report.shape == JobShape::kOneRank || report.shape == JobShape::kInTurn;
  const bool causes_are_known = report.not_looked_at_ns + report.not_known_ns < report.waited_ns / 2;
  Nanoseconds held_ns = is_known ? report.alike_ns : std::max(report.mean_waiting_ns, report.alike_ns);
  if (is_known && causes_are_known) held_ns = held_by_causes_ns(report);
  Nanoseconds lacked_ns = 0;
  if (report.usual < report.ranks.size() && !report.ranks[report.usual].devices.empty()) {
    const DeviceTime& usual = report.ranks[report.usual].devices.front().in_steps;
    lacked_ns = usual.idle_ns + usual.copying_ns;
  }
  const Nanoseconds moving_ns = report.mean_transfer_ns + report.mean_unsplit_ns + report.mean_waiting_ns;
  const Nanoseconds whole_ns = std::max<Nanoseconds>(1, report.mean_whole_ns);
  if (hosts_bind(report)) {
    report.verdict = "host-bound";
    report.hosts_bind = true;
    report.shape = JobShape::kEven;
    return;
  }
  if (held_ns >= whole_ns / kRankBoundShare && held_ns >= lacked_ns) {
    report.verdict = "rank-bound";
    if (is_known && causes_are_known && report.slow_gpu == 0) find_late_by_causes(report);
    return;
  }
  report.shape = JobShape::kEven;
  if (moving_ns + lacked_ns >= whole_ns / kBusyShare && moving_ns > lacked_ns)
    report.verdict = "communication-bound";
  else if (lacked_ns < whole_ns / kBusyShare)
    report.verdict = "gpu-bound";
  else
    report.verdict = report.usual_verdict.word.empty() ? "unknown" : report.usual_verdict.word;
}

}  // namespace synctrace
