// SPDX-License-Identifier: Apache-2.0
#include "findings/job/job_facts.h"

#include <algorithm>

#include "base/format_text.h"
#include "base/quantity_text.h"

namespace synctrace {
namespace {

RankInJob facts_of(const JobReport& job, const JobRank& rank) {
  RankInJob facts;
  facts.ranks = job.ranks.size();
  facts.steps = rank.steps;
  facts.others_waited_ns = rank.others_waited_ns;
  facts.late_count = rank.late_count;
  if (rank.devices.empty()) return facts;
  const JobDevice& device = rank.devices.front();
  facts.device = device.id;
  facts.waiting_ns = device.in_steps.waiting_ns;
  facts.transfer_ns = device.in_steps.transfer_ns;
  facts.unsplit_ns = device.in_steps.unsplit_ns;
  for (const auto& [row, ns] : device.in_steps.waiting_for) {
    if (ns > 0) facts.waits_for.push_back({row < job.ranks.size() ? job.ranks[row].label : std::string(), ns});
  }
  std::stable_sort(facts.waits_for.begin(), facts.waits_for.end(),
                   [](const WaitedRank& a, const WaitedRank& b) { return a.waiting_ns > b.waiting_ns; });
  return facts;
}

// Says how much of the time in collectives was waiting.
void split_collectives(const RankInJob& facts, VerdictLine& verdict) {
  const Nanoseconds waiting_ns = std::min(facts.waiting_ns, verdict.collective_ns);
  const auto part = std::find_if(verdict.parts.begin(), verdict.parts.end(),
                                 [](const TimePart& one) { return one.name == "collectives"; });
  if (part != verdict.parts.end()) {
    const TimePart moving{facts.unsplit_ns > 0 ? "collectives" : "moving data", part->ns - waiting_ns};
    *part = {"other ranks", waiting_ns};
    verdict.parts.push_back(moving);
    std::erase_if(verdict.parts, [](const TimePart& one) { return one.ns <= 0 && one.name != "busy"; });
    std::stable_sort(verdict.parts.begin() + 1, verdict.parts.end(),
                     [](const TimePart& a, const TimePart& b) { return a.ns > b.ns; });
  }
  const bool by_exchange = verdict.word == "communication-bound";
  if (by_exchange && waiting_ns > verdict.collective_ns / 2) verdict.word = "rank-bound";
  if (by_exchange || verdict.word == "gpu-bound") {
    verdict.evidence = format_text(
        "the GPU waited for other ranks for {} of the time, moved data for {}, and lacked work for {}",
        share_text(waiting_ns, verdict.of_ns), share_text(verdict.collective_ns - waiting_ns, verdict.of_ns),
        share_text(verdict.lacked_ns, verdict.of_ns));
  }
}

// A GPU that is busy, of a job that waits for another rank: its kernels take longer beside those that wait, and what
// binds the job binds this rank. "gpu-bound" would say that there is nothing to gain.
void name_who_holds_up(const JobReport& job, std::size_t rank, Report& report) {
  const bool is_held_up =
      job.verdict == "rank-bound" && job.shape == JobShape::kOneRank && job.late != rank && job.late < job.ranks.size();
  if (!is_held_up || report.verdict.word != "gpu-bound") return;
  report.verdict.word = "rank-bound";
  report.in_job->held_up_by = job.ranks[job.late].label;
}

}  // namespace

void add_job_facts(const JobReport& job, std::size_t rank, Report& report) {
  report.in_job = facts_of(job, job.ranks[rank]);
  if (report.verdict.collective_ns > 0 && report.verdict.device == report.in_job->device)
    split_collectives(*report.in_job, report.verdict);
  name_who_holds_up(job, rank, report);
}

}  // namespace synctrace
