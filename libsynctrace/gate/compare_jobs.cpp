// SPDX-License-Identifier: Apache-2.0
#include "gate/compare_jobs.h"

#include <algorithm>
#include <map>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "render/job_words.h"
#include "render/words.h"

namespace synctrace {
namespace {

constexpr Nanoseconds kOneIn = 50;        // this part of the job's step: less is no news
constexpr Nanoseconds kLeastNs = 20'000;  // nor is less than this
constexpr std::size_t kMostRanks = 8;     // shown

Nanoseconds step_of(const JobReport& report) { return of_a_step(report, report.base_ns); }

RankTimes times_of(const JobRank& rank) {
  const auto each = [&](Nanoseconds ns) { return rank.steps > 0 ? ns / static_cast<Nanoseconds>(rank.steps) : ns; };
  RankTimes times{rank.step_ns, 0, each(rank.others_waited_ns)};
  if (!rank.devices.empty()) times.waiting_ns = each(rank.devices.front().in_steps.waiting_ns);
  return times;
}

bool differs(Nanoseconds before_ns, Nanoseconds after_ns, Nanoseconds step_ns) {
  const Nanoseconds ns = after_ns > before_ns ? after_ns - before_ns : before_ns - after_ns;
  return ns >= std::max(kLeastNs, step_ns / kOneIn);
}

Nanoseconds change_of(const ComparedRank& rank) {
  if (!rank.before || !rank.after) return kLatestTime;
  const auto apart_ns = [](Nanoseconds a, Nanoseconds b) { return a > b ? a - b : b - a; };
  return std::max(apart_ns(rank.before->waiting_ns, rank.after->waiting_ns),
                  apart_ns(rank.before->others_waited_ns, rank.after->others_waited_ns));
}

std::string change_text(const std::optional<RankTimes>& before, const std::optional<RankTimes>& after,
                        Nanoseconds RankTimes::*time) {
  const auto one = [&](const std::optional<RankTimes>& side) { return side ? duration_text((*side).*time) : "-"; };
  return one(before) + " -> " + one(after);
}

std::string side_text(const ComparedJobs& jobs, std::size_t side) {
  if (jobs.ranks[side] == 0) return "no job";
  return format_text("{} ranks, {}", jobs.ranks[side], jobs.headlines[side]);
}

}  // namespace

bool ComparedJobs::is_same() const noexcept {
  return ranks[0] == ranks[1] && headlines[0] == headlines[1] && changed.empty() &&
         !differs(step_ns[0], step_ns[1], step_ns[0]);
}

std::optional<ComparedJobs> compare_jobs(const std::optional<JobReport>& before,
                                         const std::optional<JobReport>& after) {
  if (!before && !after) return std::nullopt;
  ComparedJobs jobs;
  jobs.by_steps = (!before || before->by_steps) && (!after || after->by_steps);
  std::map<std::string, std::size_t> rows;
  std::vector<ComparedRank> ranks;
  for (std::size_t side = 0; side < 2; ++side) {
    const std::optional<JobReport>& report = side == 0 ? before : after;
    if (!report) continue;
    jobs.ranks[side] = report->ranks.size();
    jobs.headlines[side] = job_headline(*report);
    jobs.step_ns[side] = step_of(*report);
    for (const JobRank& rank : report->ranks) {
      const auto [row, is_new] = rows.try_emplace(rank.label, ranks.size());
      if (is_new) ranks.push_back({rank.label, std::nullopt, std::nullopt});
      (side == 0 ? ranks[row->second].before : ranks[row->second].after) = times_of(rank);
    }
  }
  if (!before || !after) return jobs;
  for (ComparedRank& rank : ranks) {
    const bool on_both = rank.before && rank.after;
    if (on_both && !differs(rank.before->waiting_ns, rank.after->waiting_ns, jobs.step_ns[0]) &&
        !differs(rank.before->others_waited_ns, rank.after->others_waited_ns, jobs.step_ns[0]))
      continue;
    jobs.changed.push_back(std::move(rank));
  }
  std::stable_sort(jobs.changed.begin(), jobs.changed.end(),
                   [](const ComparedRank& a, const ComparedRank& b) { return change_of(a) > change_of(b); });
  return jobs;
}

std::string compared_jobs_text(const ComparedJobs& jobs) {
  const char* what = jobs.by_steps ? "a step" : "in all";
  if (jobs.is_same()) {
    return format_text("job   no difference: {}, {} {}\n", side_text(jobs, 0), duration_text(jobs.step_ns[0]), what);
  }
  std::string text = "job   " + side_text(jobs, 0) + " -> " + side_text(jobs, 1) + "\n";
  if (jobs.ranks[0] == 0 || jobs.ranks[1] == 0) return text;
  text += format_text("      {} -> {} {}, {:+.1f} %\n", duration_text(jobs.step_ns[0]), duration_text(jobs.step_ns[1]),
                      what,
                      100.0 * static_cast<double>(jobs.step_ns[1] - jobs.step_ns[0]) /
                          static_cast<double>(std::max<Nanoseconds>(1, jobs.step_ns[0])));
  for (std::size_t i = 0; i < std::min(jobs.changed.size(), kMostRanks); ++i) {
    const ComparedRank& rank = jobs.changed[i];
    text += format_text("      {}{} waits for others {}, others for it {}\n",
                        rank.label.starts_with("process") ? "" : "rank ", rank.label,
                        change_text(rank.before, rank.after, &RankTimes::waiting_ns),
                        change_text(rank.before, rank.after, &RankTimes::others_waited_ns));
  }
  if (jobs.changed.size() > kMostRanks)
    text += format_text("      and {} ranks more\n", count_text(jobs.changed.size() - kMostRanks));
  return text;
}

}  // namespace synctrace
