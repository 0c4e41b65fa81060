// SPDX-License-Identifier: Apache-2.0
#include "render/job_words.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "findings/job/missing_ranks.h"
#include "render/answer_words.h"
#include "render/places.h"
#include "render/screen_lines.h"
#include "render/words.h"

namespace synctrace {
namespace {

std::string rank_word(const JobReport& report, std::uint32_t rank) {
  if (rank >= report.ranks.size()) return "a rank without a recording";
  return rank_words(report.ranks[rank].label);
}

// With a capital letter, for the begin of a sentence.
std::string capital(const std::string& text) { return in_capitals(text.substr(0, 1)) + text.substr(1); }

std::string others_word(const JobReport& report) {
  const std::size_t others = report.ranks.size() - 1;
  if (others != 1) return format_text("{} ranks", others);
  return rank_word(report, report.late == 0 ? 1 : 0);
}

std::string_view deed_of(const JobCause& cause) {
  if (cause.name == "scalar-read") return "reads a value from the GPU";
  if (cause.name == "input-bound") return "waits for its data loader";
  if (cause.name == "slow-gpu") return "has a slower GPU";
  if (cause.name == "slow-kernel") return "runs a longer kernel";
  if (cause.name == "more-work") return "has more work for its GPU";
  if (varies(cause)) return "has kernels that take longer at times";
  if (cause.name == "garbage-collection") return "collects garbage";
  if (cause.name == "alloc-in-loop") return "takes GPU memory";
  if (cause.name == "host-compute") return "computes on the host";
  if (cause.name == "launch-bound") return "launches more slowly";
  if (cause.name == "not known") return "is late for a reason that is not known";
  return cause.rule == nullptr ? "spends time in host code" : "waits for its GPU";
}

// Nobody can act on what varies.
bool is_worth_a_row(const JobReport& report, const JobCause& cause) noexcept {
  return !varies(cause) && !cause.adds_nothing && is_at_least(cause.saving.ns, report.base_ns, 100);
}

// What to do about a cause for which the ranks' own reports have nothing to write.
std::string_view usual_title(const JobCause& cause) {
  if (cause.name == "slow-gpu") return "Look at this GPU's clocks, temperature and neighbours";
  if (varies(cause)) return "Nothing: this kernel takes longer now on one rank, now on another";
  if (cause.name == "slow-kernel") return "Make this kernel's work as large as on the other ranks";
  if (cause.name == "not known") return "Late for a reason that is not known";
  return "Do here what the other ranks do";
}

// "rank 3", "ranks 1, 2 and 5", "ranks 0, 1, 2, 3 and 60 more", "process 4711".
std::string ranks_words(const std::vector<std::string>& labels) {
  constexpr std::size_t kMostNamed = 8;
  const bool is_numbered = !labels.front().starts_with("process");
  if (labels.size() == 1) return (is_numbered ? "rank " : "") + labels.front();
  const std::size_t named = labels.size() > kMostNamed ? kMostNamed / 2 : labels.size() - 1;
  std::string text = is_numbered ? "ranks " : "";
  for (std::size_t i = 0; i < named; ++i) text += (i == 0 ? "" : ", ") + labels[i];
  return text + " and " + (labels.size() > kMostNamed ? format_text("{} more", labels.size() - named) : labels.back());
}

void add_cut_short(const JobReport& report, std::vector<std::string>& limits) {
  std::vector<std::string> labels;
  for (const JobRank& rank : report.ranks) {
    if (rank.cut_short) labels.push_back(rank.label);
  }
  if (labels.empty()) return;
  limits.push_back(format_text(
      "Careful: recordings end early, as {} did not end in order; the last of it is missing, the GPU's part first.",
      labels.size() == report.ranks.size() ? "all ranks" : ranks_words(labels)));
}

// The rank that it concerns most stands for all.
void add_uses(const JobReport& report, std::vector<std::string>& limits) {
  const JobRank* most = nullptr;
  std::size_t count = 0;
  const auto share = [](const JobRank& rank) {
    const DeviceUse& use = rank.devices.front().use;
    return static_cast<double>(use.others_ns) / static_cast<double>(use.looked_ns);
  };
  for (const JobRank& rank : report.ranks) {
    if (rank.devices.empty() || !rank.devices.front().use.is_shared()) continue;
    ++count;
    if (most == nullptr || share(rank) > share(*most)) most = &rank;
  }
  if (most == nullptr) return;
  const DeviceUse& use = most->devices.front().use;
  limits.push_back(format_text("Careful: another process used the GPU of {}{} for {} of the time [{}].",
                               rank_words(most->label), count > 1 ? format_text(" (and of {} more)", count - 1) : "",
                               share_text(use.others_ns, use.looked_ns), kSharedGpuRule.id));
}

void add_slow_host(const JobReport& report, std::vector<std::string>& limits) {
  if (report.slow_host <= 0) return;
  limits.push_back(
      format_text("Careful: the host of {} is slower at everything: launches, and the code between them, take at least "
                  "{:.2f} times as long as on other ranks. Look at its processor first.",
                  rank_word(report, report.late), report.slow_host));
}

void add_busy_hosts(const JobReport& report, std::vector<std::string>& limits) {
  if (report.busy_hosts_ns <= 0 || report.hosts_bind) return;
  limits.push_back(format_text("Savings are limited: the host of another rank is busy for {} of a step, too.",
                               share_text(report.busy_hosts_ns, report.base_ns)));
}

// What of a rank's process is not as it is on others, or not one rank.
void add_processes(const JobReport& report, std::vector<std::string>& limits) {
  std::set<std::string> versions;
  std::size_t mixed = 0;
  for (const JobRank& rank : report.ranks) {
    if (!rank.nccl.empty()) versions.insert(rank.nccl);
    if (rank.gpus_as_one > 1) ++mixed;
  }
  if (versions.size() > 1) {
    limits.push_back(format_text("Careful: ranks run different versions of NCCL, from {} to {}.", *versions.begin(),
                                 *versions.rbegin()));
  }
  const auto several =
      std::find_if(report.ranks.begin(), report.ranks.end(), [](const JobRank& rank) { return rank.gpus_as_one > 1; });
  if (several == report.ranks.end()) return;
  limits.push_back(
      format_text("Careful: the {} GPUs of {}{} are taken as one rank; one process for each GPU is told apart.",
                  several->gpus_as_one, rank_word(report, static_cast<std::uint32_t>(several - report.ranks.begin())),
                  mixed > 1 ? format_text("'s process, and of {} more,", mixed - 1) : "'s process"));
}

std::string percent(const JobReport& report, Nanoseconds ns) { return share_text(ns, report.base_ns); }

// "saves 12 % (10 - 14 %) on all ranks: 8.1 ms -> 7.1 ms a step."
std::string gain_words(const JobReport& report, const Interval& saving, std::string_view whom) {
  return format_text("saves {} ({} %){}: {} -> {}{}.", percent(report, saving.ns), range_words(saving, report.base_ns),
                     whom, duration_text(of_a_step(report, report.base_ns)),
                     duration_text(of_a_step(report, report.base_ns - saving.ns)), report.by_steps ? " a step" : "");
}

}  // namespace

std::string rank_words(const std::string& label) { return label.starts_with("process") ? label : "rank " + label; }

std::string hosts_words(const JobReport& report) {
  return report.hosts <= 1 ? "one host" : format_text("{} hosts", report.hosts);
}

std::vector<std::size_t> ranks_in_order(const JobReport& report, std::size_t most) {
  std::vector<std::size_t> order(report.ranks.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() <= most) return order;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return report.ranks[a].others_waited_ns > report.ranks[b].others_waited_ns;
  });
  order.resize(most);
  return order;
}

std::string job_cause_place(const JobCause& cause) {
  const std::string text = job_place(cause.where);
  return cause.kernel.empty() ? text : cause.kernel + (text.empty() ? "" : ", launched at " + text);
}

std::string job_headline(const JobReport& report) {
  if (report.hosts_bind) return "HOST-BOUND ON ALL RANKS";
  if (report.verdict != "rank-bound") return in_capitals(report.verdict);
  switch (report.shape) {
    case JobShape::kOneRank:
      return in_capitals(format_text("{} holds up {}", rank_word(report, report.late), others_word(report)));
    case JobShape::kOneGpu: return in_capitals(format_text("the GPU of {} is slow", rank_word(report, report.late)));
    case JobShape::kInTurn: return "RANKS HOLD EACH OTHER UP IN TURN";
    case JobShape::kMissing: return "A RANK WITHOUT A RECORDING HOLDS THE OTHERS UP";
    case JobShape::kNotKnown: return "RANKS WAIT FOR RANKS THAT ARE NOT KNOWN";
    case JobShape::kEven: break;
  }
  return "RANK-BOUND";
}

std::string job_sentence(const JobReport& report) {
  const std::string_view each = report.by_steps ? "in each step" : "again and again";
  const auto mean = [&](Nanoseconds ns) { return share_text(ns, report.mean_whole_ns); };
  if (report.verdict == "rank-bound") {
    const std::string waiting =
        format_text("GPUs wait for other ranks for {} of the time, on average.", mean(report.mean_waiting_ns));
    if (report.shape == JobShape::kOneGpu) {
      return format_text("Its kernels take {:.2f} times as long as the same ones of {}; no line is at fault. {}",
                         report.slow_gpu, rank_word(report, report.usual), waiting);
    }
    if (report.shape == JobShape::kOneRank && !report.causes.empty()) {
      const JobCause& first = report.causes.front();
      return format_text("{} {} {}; {} for it. {}", capital(rank_word(report, report.late)), deed_of(first), each,
                         report.ranks.size() == 2 ? "the other one waits" : "the others wait", waiting);
    }
    if (report.shape == JobShape::kInTurn) {
      return format_text("Another rank is late each time: {} the most, with {} of the waiting. {}",
                         rank_word(report, report.late), share_text(report.late_share_ns, report.waited_ns), waiting);
    }
    return waiting;
  }
  if (report.verdict == "communication-bound") {
    return format_text(
        "GPUs do nothing but move data between ranks for {} of the time, and wait for late ranks for {}. Ranks are "
        "even.",
        mean(report.mean_transfer_ns + report.mean_unsplit_ns), mean(report.mean_waiting_ns));
  }
  if (report.hosts_bind) {
    return format_text(
        "The host of each rank is busy for most of a step. Its GPU waits for launches, or for ranks whose GPUs do: {} "
        "of the time, on average. Launch less on all ranks: see synctrace explain {}.",
        mean(report.mean_waiting_ns), kLaunchBoundRule.id);
  }
  return format_text(
      "Ranks hardly wait for one another: {} of the time, and {} to move data. The same binds each of them: see --rank "
      "{}.",
      mean(report.mean_waiting_ns), mean(report.mean_transfer_ns + report.mean_unsplit_ns),
      report.usual < report.ranks.size() ? report.ranks[report.usual].label : "0");
}

std::string job_gain_sentence(const JobReport& report) {
  if (report.base_ns <= 0) return {};
  const auto first = std::find_if(report.causes.begin(), report.causes.end(),
                                  [&](const JobCause& one) { return is_worth_a_row(report, one); });
  const JobPattern* pattern = report.patterns.empty() ? nullptr : &report.patterns.front();
  if (pattern != nullptr && pattern->saving && is_worth_a_row(report, *pattern) &&
      (first == report.causes.end() || first->saving.ns < pattern->saving->ns)) {
    return "Changing one thing on all ranks " + gain_words(report, *pattern->saving, "");
  }
  const std::string now = format_text("{} {}.", report.by_steps ? "A step takes" : "The job takes",
                                      duration_text(of_a_step(report, report.base_ns)));
  if (report.hosts_bind && report.late < report.ranks.size()) {
    return format_text("{} A faster host of {} alone saves at most {}.", now, rank_word(report, report.late),
                       percent(report, report.left_by_hosts_ns));
  }
  if (first == report.causes.end()) {
    if (!is_at_least(report.alike_ns, report.base_ns, 100))
      return now + " No line of one rank alone would make it shorter.";
    return format_text("{} If no rank took longer than the middle one, {} less; no single line does that.", now,
                       percent(report, report.alike_ns));
  }
  return format_text("{} one thing {}",
                     report.shape == JobShape::kOneGpu ? "Making it as fast as the others, which is" : "Changing",
                     gain_words(report, first->saving, " on all ranks"));
}

ShownCauses shown_causes(const JobReport& report, std::size_t most) {
  ShownCauses causes;
  Nanoseconds left_ns = 0;
  Nanoseconds varying_ns = 0;
  std::size_t varying = 0;
  for (std::size_t row = 0; row < report.causes.size(); ++row) {
    const Nanoseconds saving_ns = report.causes[row].adds_nothing ? 0 : report.causes[row].saving.ns;
    if (causes.rows.size() < most && is_worth_a_row(report, report.causes[row]))
      causes.rows.push_back(row);
    else
      (varies(report.causes[row]) ? varying_ns : left_ns) += std::max<Nanoseconds>(0, saving_ns);
    if (varies(report.causes[row])) ++varying;
  }
  if (is_at_least(left_ns, report.base_ns, 100))
    causes.left_out =
        format_text("Left out: {} more, together {} or less.", report.causes.size() - causes.rows.size() - varying,
                    share_text(left_ns, report.base_ns));
  if (is_at_least(varying_ns, report.base_ns, 100)) {
    if (!causes.left_out.empty()) causes.left_out += ' ';
    causes.left_out +=
        format_text("{} now on one rank, now on another: no line is at fault.",
                    varying == 1 ? "One kernel takes longer" : format_text("{} kernels take longer", varying));
  }
  return causes;
}

std::string job_cause_title(const JobReport& report, const JobCause& cause) {
  if (cause.name == "more-work" && !cause.ranks.empty()) {
    return format_text("Give {} as much work as the others have [{}]", rank_word(report, cause.ranks.front().rank),
                       kRankWaitRule.id);
  }
  std::string title = cause.title.empty() ? std::string(usual_title(cause)) : cause.title;
  title += format_text(" [{}]", cause.rule == nullptr ? kRankWaitRule.id : cause.rule->id);
  if (cause.ranks.size() == 1) return format_text("{}, {} only", title, rank_word(report, cause.ranks.front().rank));
  return format_text("{}, {} ranks", title, cause.ranks.size());
}

std::string job_cause_evidence(const JobReport& report, const JobCause& cause) {
  if (cause.count == 0) return {};
  const Nanoseconds others = static_cast<Nanoseconds>(std::max<std::size_t>(2, report.ranks.size()) - 1);
  const Nanoseconds count = static_cast<Nanoseconds>(cause.count);
  return format_text("late {} times, by {} more than other ranks take there; the others wait {} each",
                     count_text(cause.count), duration_text(cause.excess_ns / count),
                     duration_text(cause.waited_ns / count / others));
}

std::string in_job_sentence(const Report& report) {
  if (!report.in_job) return {};
  const RankInJob& facts = *report.in_job;
  constexpr std::size_t kMostNamed = 3;
  const auto each = [&](Nanoseconds ns) { return duration_text(of_a_step(facts, ns)); };
  const std::string_view a_step = facts.steps > 0 ? " a step" : "";
  std::string whom;
  for (std::size_t i = 0; i < std::min(kMostNamed, facts.waits_for.size()); ++i) {
    const WaitedRank& one = facts.waits_for[i];
    const std::string rank = one.rank.empty() ? "one that is not known" : rank_words(one.rank);
    whom += format_text("{}{} for {}", i == 0 ? "" : ", ", each(one.waiting_ns), rank);
  }
  const std::size_t more = facts.waits_for.size() - std::min(kMostNamed, facts.waits_for.size());
  if (more > 0) whom += format_text(" and {} more", more);
  std::string text = facts.waiting_ns == 0 ? format_text("In its job of {} ranks it waits for nobody", facts.ranks)
                                           : format_text("In its job of {} ranks it waits {}{} for others ({})",
                                                         facts.ranks, each(facts.waiting_ns), a_step, whom);
  text += format_text(", and moves data for {}.", each(facts.transfer_ns));
  if (facts.unsplit_ns > 0) text += format_text(" Of {} it is not known which.", each(facts.unsplit_ns));
  if (is_at_least(facts.others_waited_ns, std::max<Nanoseconds>(1, report.verdict.of_ns), 100))
    text += format_text(" The others together wait {}{} for it.", each(facts.others_waited_ns), a_step);
  return text;
}

std::string job_pattern_title(const JobPattern& pattern) {
  return format_text("{} [{}], all ranks", pattern.title, pattern.rule->id);
}

std::string job_pattern_evidence(const JobReport& report, const JobPattern& pattern) {
  const std::string what =
      format_text("{} {} of {} a step", count_text(pattern.per_step),
                  pattern.operation.empty() ? "operations" : pattern.operation, bytes_text(pattern.bytes));
  const std::string time = duration_text(of_a_step(report, pattern.time_ns));
  const std::string why = pattern.not_predicted.empty() ? "" : "; not predicted: " + pattern.not_predicted;
  if (pattern.name == "small-collectives")
    return format_text("{}, and no result is needed before the last one's; they move data for {}{}", what, time, why);
  if (pattern.name == "collective-in-every-pass")
    return format_text("{} before those of the last pass, which are the same; they move data for {}{}", what, time,
                       why);
  return format_text("{}; directly before them the GPU of each rank has nothing to do for {}{}", what, time, why);
}

std::string job_pattern_saving(const JobReport& report, const JobPattern& pattern) {
  return pattern.saving ? percent(report, pattern.saving->ns) : "unknown";
}

bool is_worth_a_row(const JobReport& report, const JobPattern& pattern) noexcept {
  return is_at_least(pattern.saving ? pattern.saving->ns : pattern.time_ns, report.base_ns, 100);
}

std::vector<std::string> job_limits(const JobReport& report) {
  std::vector<std::string> limits;
  if (report.expected_ranks > report.recorded_ranks) {
    const std::string which = report.missing.empty() ? "" : ", not " + ranks_text(report.missing);
    limits.push_back(format_text("{} of {} ranks were recorded{}; a missing one may have been the late one.",
                                 report.recorded_ranks, report.expected_ranks, which));
  }
  add_cut_short(report, limits);
  add_slow_host(report, limits);
  add_busy_hosts(report, limits);
  add_uses(report, limits);
  add_processes(report, limits);
  for (const std::string& one : report.mismatches) limits.push_back("Careful: " + one + ".");
  if (report.not_looked_at_ns > 0 && is_at_least(report.not_looked_at_ns, report.waited_ns, 10)) {
    limits.push_back(format_text("{} of the waiting is for ranks whose lines were not looked for.",
                                 share_text(report.not_looked_at_ns, report.waited_ns)));
  }
  if (report.slow_transfer_ns > 0 && is_at_least(report.slow_transfer_ns, report.base_ns, 100)) {
    limits.push_back(format_text(
        "Operations took {} longer than others like them, with nobody late: a slow link, or computing beside them.",
        duration_text(report.slow_transfer_ns)));
  }
  if (report.captured > 0)
    limits.push_back(
        format_text("{} operations run in CUDA graphs and are not told apart.", count_text(report.captured)));
  if (report.unjoined > 0 && report.unjoined >= report.operations / 100) {
    limits.push_back(format_text(
        "{} operations lack their call or their kernel in the recordings: left out, or told by their order alone.",
        count_text(report.unjoined)));
  }
  const auto lacking = std::count_if(report.ranks.begin(), report.ranks.end(), [](const JobRank& rank) {
    return rank.lossy_ns > 0 && !rank.devices.empty() &&
           is_at_least(rank.lossy_ns, rank.devices.front().all.whole_ns, 100);
  });
  if (lacking > 0)
    limits.push_back(
        format_text("Careful: records were lost on {} of {} ranks; see --rank.", lacking, report.ranks.size()));
  if (!report.left_out.empty()) {
    std::string text = "Left out: " + report.left_out.front();
    if (report.left_out.size() > 1) text += format_text(", and {} more", report.left_out.size() - 1);
    limits.push_back(text + ".");
  }
  for (const std::string& breach : report.breaches) limits.push_back("A fault of synctrace: " + breach + ".");
  return limits;
}

}  // namespace synctrace
