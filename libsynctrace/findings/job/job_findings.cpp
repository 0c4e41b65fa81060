// SPDX-License-Identifier: Apache-2.0
#include "findings/job/job_findings.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "attribution/attribute.h"
#include "base/format_text.h"
#include "base/shown_text.h"
#include "findings/job/host_limits.h"
#include "findings/job/job_kernels.h"
#include "findings/job/job_parts.h"
#include "findings/job/job_patterns.h"
#include "findings/job/job_saving.h"
#include "findings/job/job_verdict.h"
#include "findings/job/missing_ranks.h"
#include "findings/job/rank_lanes.h"
#include "findings/job/unit_lines.h"
#include "findings/remedy_sets.h"
#include "model/collective_kernels.h"
#include "model/tolerances.h"
#include "ranks/job.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostLookedAt = 6;      // late ranks whose lines are looked for
constexpr Nanoseconds kEnoughOfWaiting = 10;  // all but one in so many of what is waited for
constexpr Nanoseconds kWorthALook = 50;       // less than one in so many of it is not

struct ExaminedRank {
  std::uint32_t rank = kNoRank;
  VerdictLine verdict;  // this and the remedies are its own report's
  std::vector<Remedy> remedies;
  std::vector<StretchPart> parts;
  KernelLines kernel_lines;
  UnitLines unit_lines;  // the usual rank's
};

std::string why_left_out(const std::string& path, bool has_devices) {
  return path.substr(path.rfind('/') + 1) + (has_devices ? ": no collectives" : ": no GPU work");
}

std::vector<std::int64_t> numbers_of(const std::vector<RankSummary>& ranks) {
  std::vector<std::int64_t> numbers;
  for (const RankSummary& rank : ranks) numbers.push_back(rank.rank);
  return numbers;
}

// By their number, else by their process.
bool comes_before(const RankSummary& a, const RankSummary& b) {
  return std::tie(a.rank, a.host, a.process_id, a.path) < std::tie(b.rank, b.host, b.process_id, b.path);
}

JobRank rank_row(const Job& job, std::uint32_t number) {
  const RankSummary& summary = job.ranks[number];
  JobRank row;
  row.path = summary.path;
  row.label = label_of(summary);
  row.host = summary.host;
  row.nccl = summary.nccl;
  row.process_id = summary.process_id;
  row.cut_short = summary.cut_short;
  row.gpus_as_one = summary.gpus_as_one;
  row.steps = summary.ordinary_steps;
  row.step_ns = row.steps == 0 ? 0 : summary.in_steps_ns / static_cast<Nanoseconds>(row.steps);
  row.host_busy_ns = row.steps == 0 ? 0 : summary.host_busy_ns / static_cast<Nanoseconds>(row.steps);
  row.lossy_ns = summary.lossy_ns;
  row.collectives = summary.units.size();
  for (std::size_t i = 0; i < summary.devices.size(); ++i) {
    const RankDevice& device = summary.devices[i];
    if (device.state.compute_ns + device.state.copy_only_ns == 0) continue;  // another rank's
    row.devices.push_back({synctrace::number(device.id), device.name, job.times[number][i].all,
                           job.times[number][i].in_steps, device.use});
  }
  std::stable_sort(row.devices.begin(), row.devices.end(), [](const JobDevice& a, const JobDevice& b) {
    const auto exchanged_ns = [](const JobDevice& one) {
      return one.all.waiting_ns + one.all.transfer_ns + one.all.unsplit_ns;
    };
    return exchanged_ns(a) > exchanged_ns(b);
  });
  return row;
}

}  // namespace

struct JobFindings::Parts {
  std::mutex mutex;
  std::map<std::size_t, RankSummary> summaries;  // by number of the file
  std::vector<std::size_t> files;                // the job's ranks
  std::map<std::size_t, std::string> left_out;   // by number of the file: why it is no rank
  std::unique_ptr<Job> job;
  std::vector<RankCharge> charges;
  std::vector<std::uint32_t> chosen;  // ranks to examine
  std::uint32_t usual = kNoRank;
  JobParts names;
  std::vector<ExaminedRank> examined;

  void choose();
  const ExaminedRank* find(std::uint32_t rank) const;
  SourceLine launched_at(const BlameRow& row) const;
  void add_causes(bool with_sets, JobReport& report);
  void add_remedy(const BlameRow& row, JobCause& cause) const;
  void add_limits(JobReport& report) const;
};

JobFindings::JobFindings() : parts_(std::make_unique<Parts>()) {}
JobFindings::~JobFindings() = default;

bool JobFindings::has_collectives(const Trace& trace) {
  if (!trace.collectives.empty()) return true;
  CollectiveKernels kernels(trace);
  return std::any_of(trace.operations.begin(), trace.operations.end(),
                     [&](const Operation& one) { return kernels.is(one); });
}

void JobFindings::summarize(std::size_t file, const Findings& findings) {
  RankSummary summary = summarize_rank(findings.trace(), findings.attribution());
  const std::lock_guard lock(parts_->mutex);
  parts_->summaries.insert_or_assign(file, std::move(summary));
}

void JobFindings::leave_out(std::size_t file, const Trace& trace) {
  const bool has_devices = trace.has_timeline() && !(trace.contexts.empty() && trace.operations.empty());
  std::string reason = why_left_out(printable(trace.path), has_devices);
  const std::lock_guard lock(parts_->mutex);
  parts_->left_out.insert_or_assign(file, std::move(reason));
}

bool JobFindings::join() {
  std::vector<RankSummary> all;
  std::vector<std::size_t> files;
  for (auto& [file, summary] : parts_->summaries) {
    files.push_back(file);
    all.push_back(std::move(summary));
  }
  parts_->summaries.clear();
  std::vector<std::uint32_t> rows = ranks_of_one_job(all);
  if (rows.empty()) return false;
  for (std::uint32_t i = 0; i < all.size(); ++i) {  // another job's: reported one by one
    const bool is_in = std::find(rows.begin(), rows.end(), i) != rows.end();
    if (!is_in && !all[i].units.empty()) return false;
  }
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (std::find(rows.begin(), rows.end(), i) != rows.end()) continue;
    parts_->left_out.emplace(files[i], why_left_out(all[i].path, !all[i].devices.empty()));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return comes_before(all[a], all[b]); });
  std::vector<RankSummary> ranks;
  for (const std::uint32_t row : rows) {
    ranks.push_back(std::move(all[row]));
    parts_->files.push_back(files[row]);
  }
  parts_->job = std::make_unique<Job>(std::move(ranks));
  parts_->choose();
  return true;
}

std::vector<std::size_t> JobFindings::to_examine() const {
  std::vector<std::size_t> wanted;
  for (const std::uint32_t rank : parts_->chosen) wanted.push_back(parts_->files[rank]);
  return wanted;
}

void JobFindings::Parts::choose() {
  charges = charge_ranks(job->match, job->split, job->replay);
  Nanoseconds all_ns = 0;
  for (const RankCharge& one : charges) all_ns = add_saturated(all_ns, one.waited_ns);
  Nanoseconds seen_ns = 0;
  for (const RankCharge& one : charges) {
    if (one.rank == kNoRank) continue;
    const bool enough = seen_ns >= all_ns - all_ns / kEnoughOfWaiting;
    if (chosen.size() == kMostLookedAt || enough || one.waited_ns < all_ns / kWorthALook) break;
    chosen.push_back(one.rank);
    seen_ns += one.waited_ns;
  }
  const std::span<const std::uint32_t> late(chosen);
  usual = usual_rank(job->ranks, job->match, job->replay, late.first(std::min<std::size_t>(late.size(), 1)));
  if (usual == kNoRank && !job->ranks.empty()) usual = 0;
  if (std::find(chosen.begin(), chosen.end(), usual) == chosen.end()) chosen.push_back(usual);
}

void JobFindings::examine(std::size_t file, const Findings& findings, const Report& report) {
  const auto at = std::find(parts_->files.begin(), parts_->files.end(), file);
  if (at == parts_->files.end()) return;
  ExaminedRank one;
  one.rank = static_cast<std::uint32_t>(at - parts_->files.begin());
  one.verdict = report.verdict;
  one.remedies = report.savings.remedies;
  const RankSummary& summary = parts_->job->ranks[one.rank];
  JobParts::OfRank of_rank =
      parts_->names.of_rank(findings.trace(), findings.attribution(), summary, report, findings.user_code());
  one.parts = std::move(of_rank.parts);
  one.kernel_lines = std::move(of_rank.kernel_lines);
  if (one.rank == parts_->usual)
    one.unit_lines = unit_lines(findings.trace(), findings.attribution(), summary, report, findings.user_code());
  parts_->examined.push_back(std::move(one));
}

const ExaminedRank* JobFindings::Parts::find(std::uint32_t rank) const {
  const auto at =
      std::find_if(examined.begin(), examined.end(), [&](const ExaminedRank& one) { return one.rank == rank; });
  return at == examined.end() ? nullptr : &*at;
}

SourceLine JobFindings::Parts::launched_at(const BlameRow& row) const {
  const auto lines_of = [&](std::uint32_t rank) {
    const ExaminedRank* looked = find(rank);
    if (looked == nullptr) return KernelLines::mapped_type();
    const auto lines = looked->kernel_lines.find(row.name);
    return lines == looked->kernel_lines.end() ? KernelLines::mapped_type() : lines->second;
  };
  if (row.ranks.empty()) return {};
  const std::uint32_t late = row.ranks.front().rank;
  return more_launched_at(lines_of(late), late == usual ? KernelLines::mapped_type() : lines_of(usual));
}

// What the rank's own report says to write at the line.
void JobFindings::Parts::add_remedy(const BlameRow& row, JobCause& cause) const {
  const FixKey& key = names[row.name].fix_key;
  for (const ExaminedRank& looked : examined) {
    if (row.ranks.empty() || looked.rank != row.ranks.front().rank) continue;
    for (const Remedy& remedy : looked.remedies) {
      // Rare slow steps of a rank, and what its kernels compute, are no difference between ranks.
      if (remedy.fix == Fix::kLikeOthers || remedy.fix == Fix::kKernels) continue;
      if (remedy.rule == &kHostDataRule) continue;  // the other ranks make the same data in less time
      const bool is_there = std::any_of(remedy.fixes.begin(), remedy.fixes.end(), [&](const ShownFix& fix) {
        return fix.key == key ||
               (fix.where.known() && fix.where.file == cause.where.file && fix.where.line == cause.where.line);
      });
      if (!is_there) continue;
      // The title of host code says "twice as fast"; here it is to take as long as on the other ranks.
      if (remedy.fix != Fix::kSpeedUp) cause.title = remedy.title;
      cause.to_type = remedy.to_type;
      return;
    }
  }
}

void JobFindings::Parts::add_causes(bool with_sets, JobReport& report) {
  const ExaminedRank* late = find(report.late);
  const ExaminedRank* usual_one = find(report.usual);
  KernelsAsOne as_one;
  if (late != nullptr && usual_one != nullptr && late != usual_one) {
    report.slow_gpu = slow_gpu_of(names, late->parts, usual_one->parts);
    as_one = report.slow_gpu > 0 ? all_kernels_of(names) : more_work_of(names, late->parts, usual_one->parts);
  }
  std::vector<std::vector<StretchPart>*> all;
  for (ExaminedRank& one : examined) all.push_back(&one.parts);
  const std::vector<StretchPart> usual_parts = usual_one == nullptr ? std::vector<StretchPart>() : usual_one->parts;
  const std::uint32_t one_name = names.settle(usual_parts, as_one, all);
  for (ExaminedRank& one : examined) join_kernel_lines(as_one, one_name, one.kernel_lines);
  std::vector<LookedAt> looked;
  for (ExaminedRank& one : examined) looked.push_back({one.rank, one.parts});
  const Blame blame = find_blame(
      job->ranks, job->match, job->split, job->replay, looked, names.sorts(),
      with_sets ? std::optional(SetQuestion{kWorthASwitch.of(report.base_ns), kMostSwitches}) : std::nullopt);
  report.waited_ns = blame.waited_ns;
  report.not_looked_at_ns = blame.not_looked_at_ns;
  report.not_known_ns = blame.not_known_ns;
  for (const BlameRow& row : blame.rows) {
    JobCause& cause = report.causes.emplace_back();
    cause.name = "not known";
    if (row.name != kNoName) {
      const JobPart& part = names[row.name];
      cause.name =
          part.is_kernel && part.name != "slow-gpu" ? row.varies ? "varying-kernel" : "slow-kernel" : part.name;
      cause.rule = part.rule;
      cause.where = part.where;
      if (part.is_kernel && part.name != "slow-gpu") {
        cause.kernel = part.name;
        cause.where = launched_at(row);
      }
      if (part.name == "more-work") {
        cause.name = part.name;
        cause.kernel = format_text("{} kernels", std::count(as_one.rows.begin(), as_one.rows.end(), true));
      }
    }
    cause.ranks = row.ranks;
    cause.waited_ns = row.waited_ns;
    cause.excess_ns = row.excess_ns;
    cause.count = row.meetings;
    cause.saving = saving_of(row.saving, report);
    cause.cumulative_ns = at_real_clocks(row.with_those_before_ns, report);
    // What the rank's own report has for a line that launches a kernel does not make the kernel shorter.
    if (row.name != kNoName && !names[row.name].is_kernel) add_remedy(row, cause);
  }
  for (const BlameSet& set : blame.sets) {
    JobCauseSet& some = report.sets.emplace_back(JobCauseSet{set.rows, saving_of(set.saving, report)});
    for (const auto part : {&Interval::lo_ns, &Interval::ns, &Interval::hi_ns})
      some.saving.*part = std::min(some.saving.*part, report.base_ns);
  }
}

void JobFindings::Parts::add_limits(JobReport& report) const {
  report.operations = job->match.meetings.size();
  report.without_partner = job->match.alone;
  report.disagreements = job->match.disagreements;
  report.breaches = job->breaches;
  for (const JobCommunicator& one : job->match.communicators)
    report.expected_ranks = std::max<std::size_t>(report.expected_ranks, one.ranks);
  for (const RankSummary& rank : job->ranks) report.recorded_ranks += rank.gpus_as_one;
  if (report.expected_ranks > report.recorded_ranks && report.recorded_ranks == job->ranks.size())
    report.missing = missing_ranks(numbers_of(job->ranks), report.expected_ranks);
  for (const RankClock& clock : job->clocks.ranks) {
    if (clock.known) report.clock_residual_ns = std::max(report.clock_residual_ns, clock.residual_ns);
  }
  for (const RankSummary& rank : job->ranks) {
    report.captured += rank.captured;
    report.unjoined += rank.without_record + rank.without_kernel;
  }
  for (std::size_t i = 0; i < job->match.meetings.size(); ++i) {
    const MeetingSplit& split = job->split.meetings[i];
    const bool is_slow = split.is_split && split.transfer_ns > 2 * split.usual_ns + kSureMarginNs;
    if (job->match.meetings[i].in_steps && is_slow)
      report.slow_transfer_ns = add_saturated(report.slow_transfer_ns, split.transfer_ns - split.usual_ns);
  }
  for (const Mismatch& one : job->match.mismatches) {
    const auto says = [&](Member member) {
      const RankSummary& rank = job->ranks[member.rank];
      const CollectiveUnit& unit = rank.units[member.unit];
      return format_text("rank {} asks for {} of {} bytes", label_of(rank), rank.operations[unit.operation],
                         unit.bytes);
    };
    report.mismatches.push_back(
        format_text("operation {} of a communicator differs: {}, {}", one.turn, says(one.one), says(one.other)));
  }
}

const std::vector<std::size_t>& JobFindings::files() const noexcept { return parts_->files; }

std::vector<std::uint32_t> JobFindings::to_draw(std::size_t most) const {
  return ranks_to_draw(*parts_->job, parts_->charges, parts_->usual, most);
}

RankLane JobFindings::lane(std::uint32_t rank) const { return lane_of(*parts_->job, rank); }
std::vector<ExchangeRow> JobFindings::exchanges(std::uint32_t rank) const { return exchanges_of(*parts_->job, rank); }

JobReport JobFindings::report(bool with_sets) const {
  JobReport report;
  const Job& job = *parts_->job;
  std::set<std::string> hosts;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    report.ranks.push_back(rank_row(job, rank));
    report.simulated = report.simulated || job.ranks[rank].simulated;
    hosts.insert(job.ranks[rank].host);
    if (report.program.empty()) report.program = job.ranks[rank].program;
    if (report.device.empty() && !report.ranks.back().devices.empty())
      report.device = report.ranks.back().devices.front().name;
  }
  report.hosts = hosts.size();
  for (const auto& [file, reason] : parts_->left_out) report.left_out.push_back(reason);
  for (const RankCharge& charge : parts_->charges) {
    if (charge.rank == kNoRank) continue;
    JobRank& row = report.ranks[charge.rank];
    row.others_waited_ns = charge.waited_ns;
    row.margin_ns = charge.margin_ns;
    row.late_count = charge.meetings;
  }
  report.usual = parts_->usual;
  for (const ExaminedRank& one : parts_->examined) {
    if (one.rank == report.usual) report.usual_verdict = one.verdict;
  }
  if (report.usual != kNoRank) {
    const RankSummary& usual = job.ranks[report.usual];
    report.steps = usual.ordinary_steps;
    report.by_steps = report.steps > 0;
    if (!report.ranks[report.usual].devices.empty())
      report.base_ns = report.ranks[report.usual].devices.front().in_steps.whole_ns;
    if (report.by_steps) report.base_ns = usual.in_steps_ns;
  }
  find_late_rank(job, parts_->charges, report);
  parts_->add_causes(with_sets, report);
  limit_by_hosts(job, report);
  judge_job(report);
  if (report.hosts_bind) keep_remedies(job, report);
  if (report.slow_gpu > 0 && report.shape == JobShape::kOneRank) report.shape = JobShape::kOneGpu;
  if (report.shape == JobShape::kOneRank || report.hosts_bind) report.slow_host = slow_host_of(job, report.late);
  if (const ExaminedRank* usual = parts_->find(report.usual))
    report.patterns = find_job_patterns(job, report.usual, usual->unit_lines);
  parts_->add_limits(report);
  return report;
}

}  // namespace synctrace
