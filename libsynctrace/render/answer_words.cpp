// SPDX-License-Identifier: Apache-2.0
#include "render/answer_words.h"

#include <algorithm>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "findings/phases/slow_causes.h"
#include "render/screen_lines.h"
#include "render/words.h"

namespace synctrace {
namespace {

constexpr Share kMuchIrregular = percent(10);  // share of the steps' time
constexpr Nanoseconds kFewAlone = 4;           // alone less than one in so many of what it adds: pays only after others

// What the verdict means, as the end of a sentence about the GPU.
std::string_view meaning_of(std::string_view word) {
  if (word == "sync-bound") return "the host waits for it, then has nothing queued";
  if (word == "transfer-bound") return "it waits for copies";
  if (word == "input-bound") return "the next batch comes too late";
  if (word == "launch-bound") return "kernels are launched too slowly";
  if (word == "host-bound") return "host code between the launches takes too long";
  if (word == "shared-gpu") return "another process uses it, too";
  if (word == "dependency-bound") return "its streams wait for one another";
  return "why is not known";
}

std::string collectives_clause(const Report& report) {
  const VerdictLine& verdict = report.verdict;
  if (report.in_job) {
    return format_text("Of it {} is waiting for other ranks or moving data between them.",
                       share_text(verdict.collective_ns, verdict.of_ns));
  }
  return format_text("Of it {} is in collectives: how much of that is waiting for other ranks is not known from one.",
                     share_text(verdict.collective_ns, verdict.of_ns));
}

template <class Visit>
void visit_idle_causes(const Report& report, const Visit& visit) {
  for (const DeviceReport& device : report.devices) {
    for (const IdleCause& cause : device.causes) visit(cause);
  }
}

}  // namespace

bool is_by_steps(const Report& report) noexcept { return report.steps.figures.count > 0; }

std::string saved_share(const SavingsReport& savings, Nanoseconds ns) { return share_text(ns, savings.base_ns); }

std::string range_words(const Interval& saving, Nanoseconds of_ns) {
  const auto percent = [&](Nanoseconds ns) {
    return 100.0 * static_cast<double>(ns) / static_cast<double>(std::max<Nanoseconds>(1, of_ns));
  };
  return format_text("{:.0f} - {:.0f}", percent(saving.lo_ns), percent(saving.hi_ns));
}

std::string verdict_sentence(const Report& report) {
  const VerdictLine& verdict = report.verdict;
  const bool all_alike = report.steps.figures.irregular == 0;
  const std::string_view of =
      is_by_steps(report) ? all_alike ? "each step" : "each ordinary step" : "the time from its first to its last work";
  std::string words;
  if (verdict.word == "gpu-bound") {
    const bool much_irregular = are_irregular_steps_at_least(kMuchIrregular, report.steps);
    words = format_text("The GPU is busy for {} of {}. {}",
                        share_text(verdict.of_ns - verdict.lacked_ns, verdict.of_ns), of,
                        much_irregular              ? "What there is to gain is in the irregular steps (below)."
                        : verdict.collective_ns > 0 ? collectives_clause(report)
                                                    : "The host's code has little to gain.");
  } else if (report.in_job && !report.in_job->held_up_by.empty()) {
    words =
        format_text("Rank {} holds up the job. The GPU here is busy for {} of {}; {} of it is waiting or moving data.",
                    report.in_job->held_up_by, share_text(verdict.of_ns - verdict.lacked_ns, verdict.of_ns), of,
                    share_text(verdict.collective_ns, verdict.of_ns));
  } else if (report.in_job && (verdict.word == "communication-bound" || verdict.word == "rank-bound")) {
    const Nanoseconds waiting_ns = std::min(report.in_job->waiting_ns, verdict.collective_ns);
    words = format_text("For {} of {} the GPU waits for other ranks, for {} it moves data, and for {} it is idle.",
                        share_text(waiting_ns, verdict.of_ns), of,
                        share_text(verdict.collective_ns - waiting_ns, verdict.of_ns),
                        share_text(verdict.lacked_ns, verdict.of_ns));
  } else if (verdict.word == "communication-bound") {
    words = format_text(
        "The GPU is in nothing but collectives for {} of {}, and idle for {}. How much of the collectives is waiting "
        "for "
        "other ranks is not known from one: report all ranks' recordings together.",
        share_text(verdict.collective_ns, verdict.of_ns), of, share_text(verdict.lacked_ns, verdict.of_ns));
  } else {
    words = format_text("The GPU has nothing to compute for {} of {}: {}.",
                        share_text(verdict.lacked_ns, verdict.of_ns), of, meaning_of(verdict.word));
  }
  if (verdict.is_hint) words += " This is a hint: much of it rests on little evidence.";
  return words;
}

bool is_slowed(const SavingsReport& savings) noexcept {
  return savings.recorded_ns - savings.base_ns > savings.base_ns / 100;
}

std::string base_range_words(const SavingsReport& savings) {
  const std::string least = duration_text(of_a_step(savings, savings.base_lo_ns));
  const std::string most = duration_text(of_a_step(savings, savings.base_hi_ns));
  return least == most ? "" : format_text("{} to {}", least, most);
}

const Interval* whole_gain(const SavingsReport& savings) noexcept {
  if (savings.base_ns == 0 || savings.remedies.empty()) return nullptr;
  const Interval& all = savings.remedies.back().cumulative;
  return all.grade == Grade::kNone || !is_at_least(all.ns, savings.base_ns, 100) ? nullptr : &all;
}

std::string gain_sentence(const Report& report) {
  const SavingsReport& savings = report.savings;
  if (savings.base_ns == 0) {
    if (!is_by_steps(report)) return "";
    return format_text("A step takes {}.", duration_text(report.steps.ordinary_mean_ns));
  }
  std::string words = format_text(
      "{} {}{}.", savings.by_steps ? "A step takes" : "The run takes",
      duration_text(of_a_step(savings, savings.base_ns)),
      is_slowed(savings) ? format_text(" ({} recorded)", duration_text(of_a_step(savings, savings.recorded_ns))) : "");
  const StepFigures& steps = report.steps.figures;
  if (steps.count > 0 && report.steps.ordinary_mean_ns - steps.p50_ns > steps.p50_ns / 4)
    words += format_text(" Steps are uneven: half of them take {} or less.", duration_text(steps.p50_ns));
  const Interval* all = whole_gain(savings);
  if (all == nullptr) return words;
  return words + format_text(" {} seem possible: {} less ({} %).",
                             duration_text(of_a_step(savings, savings.base_ns - all->ns)),
                             saved_share(savings, all->ns), range_words(*all, savings.base_ns));
}

bool pays_only_after(const Remedy& remedy) noexcept {
  return !is_at_least(remedy.alone.ns, remedy.marginal.ns, kFewAlone);
}

std::string changes_heading(std::span<const Remedy* const> shown) {
  const bool falls = std::is_sorted(shown.begin(), shown.end(), [](const Remedy* one, const Remedy* other) {
    return one->marginal.ns > other->marginal.ns;
  });
  return falls ? "What to change, best first" : "What to change, in this order";
}

std::string why_behind(const SavingsReport& savings, const Remedy& before, const Remedy& remedy) {
  if (pays_only_after(remedy)) return "pays only after the above";
  if (remedy.marginal.ns <= before.marginal.ns) return {};
  if (remedy.alone.ns < before.marginal.ns) return saved_share(savings, remedy.alone.ns) + " alone";
  return remedy.rule == &kFloat32MatmulRule || remedy.rule == &kNoAutocastRule ? "changes results" : "";
}

// What is said of a line must be what the change is about: the line may wait, copy and launch.
std::string evidence_of(const Report& report, const ShownFix& fix) {
  const Fix what = fix.saving.fix;
  const bool is_copy = what == Fix::kAsyncCopy || what == Fix::kDeferWait;
  const bool is_wait = is_copy || what == Fix::kDeferRead || what == Fix::kRemoveWait || what == Fix::kCacheMemory ||
                       (what == Fix::kDropCall && fix.key.family != FixFamily::kHost);
  if (!is_wait) return {};
  const auto is_there = [&](const CallSite& site) {
    return site.where.known() && site.where.file == fix.where.file && site.where.line == fix.where.line;
  };
  const auto copy = std::find_if(report.pageable_copies.begin(), report.pageable_copies.end(), is_there);
  if (is_copy && copy != report.pageable_copies.end() && copy->figures.calls > 0 && copy->figures.bytes > 0) {
    const WaitFigures& figures = copy->figures;
    return format_text("{} pageable copies of {} each, {} of the host's time", count_text(figures.calls),
                       bytes_text(figures.bytes / figures.calls), duration_text(figures.host_ns));
  }
  const auto wait = std::find_if(report.waits.begin(), report.waits.end(), is_there);
  if (wait == report.waits.end() || wait->figures.waited == 0) return {};
  const WaitFigures& figures = wait->figures;
  return format_text("{} of {} calls wait, {} each", count_text(figures.waited), count_text(figures.calls),
                     duration_text(figures.host_blocked_ns / static_cast<Nanoseconds>(figures.waited)));
}

bool is_worth_a_word(const Report& report, const Remedy& remedy) {
  return is_at_least(remedy.marginal.ns, report.savings.base_ns, 1'000);
}

namespace {

// The last change that has a row; null: none has.
const Remedy* last_shown(const Report& report, const std::vector<const Remedy*>& left) {
  const Remedy* last = nullptr;
  for (const Remedy& remedy : report.savings.remedies) {
    if (is_worth_showing(report, remedy) && std::find(left.begin(), left.end(), &remedy) == left.end()) last = &remedy;
  }
  return last;
}

}  // namespace

std::string left_out_sentence(const Report& report, const std::vector<const Remedy*>& left, const ScreenPlaces& places,
                              std::size_t most_named) {
  Nanoseconds ns = 0;
  Nanoseconds counted_ns = 0;
  std::string names;
  std::size_t count = 0;
  const Remedy* const last = last_shown(report, left);
  for (const Remedy* remedy : left) {
    if (!is_worth_a_word(report, *remedy)) continue;
    ns += remedy->marginal.ns;
    if (remedy < last) counted_ns += remedy->marginal.ns;
    if (++count <= most_named)
      names += format_text("{}{} ({})", names.empty() ? "" : ", ", remedy->title, places.of(remedy->fixes.front(), 40));
  }
  if (count == 0) return {};
  if (most_named == 0)
    names = format_text("{} change{}", count, count == 1 ? "" : "s");
  else if (count > most_named)
    names += format_text(", {} more", count - most_named);
  const std::string counted =
      counted_ns == 0    ? std::string()
      : counted_ns == ns ? " (\"all so far\" counts it)"
                         : format_text(" (\"all so far\" counts {} of it)", saved_share(report.savings, counted_ns));
  return format_text("Left out, {} together{}: {}.", saved_share(report.savings, ns), counted, names);
}

bool may_host_save(const SavingsReport& savings) noexcept { return is_at_least(savings.all.ns, savings.base_ns, 100); }

std::string host_sentence(const SavingsReport& savings) {
  if (!savings.refusal.empty()) return {};
  const Interval& all = savings.all;
  if (may_host_save(savings)) {
    if (all.lo_ns > 0)
      return format_text("No change of a few lines is known, though the host takes {} ({} at least).",
                         saved_share(savings, all.ns), saved_share(savings, all.lo_ns));
    return format_text(
        "Nothing is promised: all fixes together would save {} in the replay, but the recording also allows anything "
        "from 0 to {}.",
        saved_share(savings, all.ns), saved_share(savings, all.hi_ns));
  }
  constexpr Share kNotMuch = percent(5);
  if (ratio(all.hi_ns, savings.base_ns) > kNotMuch)
    return format_text("Nothing is promised: the recording allows anything from 0 to {}.",
                       saved_share(savings, all.hi_ns));
  return format_text("No host code to change: all lines together would save {}.",
                     all.hi_ns > 0 ? saved_share(savings, all.hi_ns) + " at most" : "less than 0.5 %");
}

std::string kernels_sentence(const SavingsReport& savings) {
  const auto first = std::find_if(savings.remedies.begin(), savings.remedies.end(),
                                  [](const Remedy& each) { return each.fix == Fix::kKernels; });
  if (first == savings.remedies.end()) return {};
  const Interval& all = savings.remedies.back().cumulative;
  if (!is_at_least(all.ns, savings.base_ns, 100)) return {};
  return format_text(
      "Faster kernels may save {}, but the recording allows anything from 0 to {}. The first change: {} [{}].",
      saved_share(savings, all.ns), saved_share(savings, all.hi_ns), first->title, first->rule->id);
}

bool ends_early(const Report& report) {
  return std::any_of(report.losses.begin(), report.losses.end(), [](const LossReport& loss) {
    return loss.name == kLossUncleanEnd || loss.name == kLossTruncated;
  });
}

std::string recorded_text(const Report& report) {
  return report.recorded_ns > 0 ? duration_text(report.recorded_ns) : "length unknown";
}

bool lost_all_calls(const Report& report) noexcept { return report.calls.calls == 0 && ends_early(report); }

std::string no_verdict_sentence(const Report& report) {
  if (lost_all_calls(report)) return "NO VERDICT: " + std::string(kLostAllCalls);
  const std::string waited =
      format_text("The host waited for the GPU for {} in {} of {} calls.", duration_text(report.calls.host_blocked_ns),
                  count_text(report.calls.waited), count_text(report.calls.calls));
  if (report.has_timeline) return "NO VERDICT: too little GPU work was recorded to judge by. " + waited;
  if (report.level == "timeline")
    return waited +
           " The GPU's own time is not in the file: how long it was idle, and what a fix would save, is unknown.";
  return waited +
         " The GPU's own time was not recorded: how long it was idle, and what a fix would save, needs "
         "--level=timeline.";
}

std::string host_code_sentence(const Report& report) {
  const VerdictLine& verdict = report.verdict;
  const SavingsReport& savings = report.savings;
  const auto found = std::find_if(verdict.parts.begin(), verdict.parts.end(),
                                  [](const TimePart& each) { return each.name == "host code"; });
  if (found == verdict.parts.end() || !is_at_least(found->ns, verdict.of_ns, 20)) return {};
  const auto is_host = [](const Remedy& remedy) { return remedy.fix == Fix::kSpeedUp || remedy.fix == Fix::kDropCall; };
  if (std::any_of(savings.remedies.begin(), savings.remedies.end(), is_host)) return {};
  const SavingReport* best = nullptr;
  visit_idle_causes(report, [&](const IdleCause& cause) {
    const bool counts = cause.saving && cause.saving->fix == Fix::kSpeedUp && cause.saving->alone.ns > 0;
    if (counts && (best == nullptr || cause.saving->alone.ns > best->alone.ns)) best = &*cause.saving;
  });
  return format_text("Host code between launches: {} of {}, in many lines{}.", share_text(found->ns, verdict.of_ns),
                     is_by_steps(report) ? "a step" : "the time",
                     best == nullptr ? ""
                                     : format_text("; one line made twice as fast saves {} at most",
                                                   saved_share(savings, best->alone.ns)));
}

std::string no_graph_sentence(const Report& report, const ScreenPlaces& places) {
  const VerdictLine& verdict = report.verdict;
  const auto found = std::find_if(verdict.parts.begin(), verdict.parts.end(),
                                  [](const TimePart& each) { return each.name == "launching"; });
  const bool costs_much = found != verdict.parts.end() && is_at_least(found->ns, verdict.of_ns, 20);
  const std::vector<Remedy>& remedies = report.savings.remedies;
  const bool is_promised =
      std::any_of(remedies.begin(), remedies.end(), [](const Remedy& each) { return each.fix == Fix::kGraph; });
  if (!costs_much || !report.savings.no_graph.known()) return {};
  return format_text("No CUDA graph is promised for {}: the host waits inside, at {}.",
                     is_promised           ? "the other launches"
                     : is_by_steps(report) ? share_text(found->ns, verdict.of_ns) + " of a step"
                                           : share_text(found->ns, verdict.of_ns) + " of the time",
                     places.of(report.savings.no_graph, 40));
}

const IdleCause* dearest_beyond(const Report& report) noexcept {
  const IdleCause* most = nullptr;
  visit_idle_causes(report, [&](const IdleCause& cause) {
    if (!cause.saving || cause.saving->fix != Fix::kNone ||
        !is_at_least(cause.saving->ceiling_ns, report.savings.base_ns, 100))
      return;
    if (most == nullptr || cause.saving->ceiling_ns > most->saving->ceiling_ns) most = &cause;
  });
  return most;
}

std::string beyond_sentence(const Report& report, const ScreenPlaces& places) {
  const IdleCause* most = dearest_beyond(report);
  if (most == nullptr) return {};
  return format_text("Needs another algorithm: the wait at {} ({}); without it {} less.", places.of(most->where, 40),
                     most->name, saved_share(report.savings, most->saving->ceiling_ns));
}

std::string not_counted_sentence(const Report& report) {
  if (!is_by_steps(report) || report.devices.empty()) return {};
  const RunTimes& times = report.times;
  const Nanoseconds outside_ns = report.recorded_ns - times.ordinary_ns - times.irregular_ns;
  if (!is_at_least(outside_ns, report.recorded_ns, 100)) return {};
  std::string parts;
  const auto add = [&](const std::string& name, Nanoseconds ns) {
    if (!is_at_least(ns, outside_ns, 100)) return;
    parts += format_text("{}{} {}", parts.empty() ? "" : ", ", name, duration_text(ns));
  };
  const std::size_t warm_up = report.steps.figures.warm_up;
  add(warm_up > 1 ? format_text("start and {} steps of warm-up", count_text(warm_up)) : "start",
      times.before_ns + times.warm_up_ns);
  add("other phases", times.others_ns);
  add("between steps", times.between_ns);
  add("end", times.after_ns);
  return format_text("Not counted: {} outside of the {} steps ({}).", duration_text(outside_ns),
                     count_text(report.steps.figures.count), parts);
}

std::string irregular_sentence(const Report& report, const ScreenPlaces& places) {
  const StepsReport& steps = report.steps;
  const std::size_t count = steps.figures.irregular;
  if (!are_irregular_steps_at_least(percent(1), steps)) return {};
  std::string words = format_text("{} these figures: {} irregular step{} took {}{} (the others {})",
                                  report.savings.slow_ns > 0 ? "In" : "Not in", count_text(count),
                                  count == 1 ? "" : "s", duration_text(steps.irregular_mean_ns),
                                  count == 1 ? "" : " each", duration_text(steps.ordinary_mean_ns));
  const std::vector<SlowCause> causes = slow_causes(report, 1);
  // If a step waited for other work of the GPU, no cause tells enough.
  if (!causes.empty() && is_at_least(causes.front().irregular_ns, steps.irregular_mean_ns, 10)) {
    const SlowCause& most = causes.front();
    const std::string rule = most.cause->rule == nullptr ? "" : format_text(" [{}]", most.cause->rule->id);
    words += format_text(": {} of it {}{}{}", duration_text(most.irregular_ns), most.cause->name, rule,
                         most.cause->where.known() ? ", " + places.of(most.cause->where, 40) : "");
  }
  return words + ".";
}

std::size_t replayed_steps(const Report& report) noexcept {
  return report.savings.steps - (report.savings.slow_ns > 0 ? report.steps.figures.irregular : 0);
}

std::string basis_sentence(const Report& report) {
  const SavingsReport& savings = report.savings;
  if (!report.has_timeline || report.verdict.word.empty()) return {};
  if (!savings.refusal.empty()) return "No savings were predicted: " + savings.refusal + ".";
  const std::string what = savings.by_steps ? format_text("{} {}steps", count_text(replayed_steps(report)),
                                                          report.steps.figures.irregular > 0 ? "ordinary " : "")
                                            : "the recording, which shows no steps";
  const std::vector<Remedy>& remedies = savings.remedies;
  const bool by_kernels = std::any_of(remedies.begin(), remedies.end(), [&](const Remedy& each) {
    return each.fix == Fix::kKernels && is_worth_showing(report, each);
  });
  if (by_kernels)
    return format_text("Savings come from a replay of {}. Kernel savings come from timings of other programs.", what);
  return format_text("Savings come from a replay of {}. Not valid if the fix changes kernels or their order.", what);
}

}  // namespace synctrace
