// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "attribution/attribute.h"
#include "base/name_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "base/shown_text.h"
#include "findings/gpu_work/kernel_advice.h"
#include "findings/idle_gone.h"
#include "findings/loader/loader_workers.h"
#include "findings/middle_savings.h"
#include "findings/remedies/frameworks.h"
#include "findings/remedies/remedy_kinds.h"
#include "findings/remedies/remedy_words.h"
#include "findings/remedy_sets.h"
#include "findings/report/trace_words.h"
#include "findings/report_parts.h"
#include "findings/slow_steps.h"
#include "findings/wished_fixes.h"
#include "model/excerpt.h"
#include "whatif/fix_sites.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostInVain = 8;
constexpr Share kHardlyLacking = percent(5);  // share of the time that the GPU lacks work
constexpr Share kGainOfMoved = percent(25);   // less of the wait that moves is hardly a gain
// Launches, calls and pieces of GPU work. In a longer run more of them would tell nothing new.
constexpr std::size_t kMostReplayed = 200'000;

class SavingsWriter {
 public:
  SavingsWriter(const Trace& trace, const WhatIf& found, StackPlaces& places)
      : trace_(trace), found_(found), places_(places) {}

  SavingReport saving_of(std::uint16_t site) const {
    SavingReport report;
    const Saving* saving = found_.of_site(site);
    report.fix = found_.sites[site].fix;
    if (saving == nullptr) return report;
    report.alone = saving->alone;
    report.fix = saving->fix;
    report.ceiling_ns = saving->ceiling_ns;
    if (saving->moves_to != 0) report.moves_to = place_words(saving->moves_to);
    return report;
  }

  ShownFix fix_at(std::uint16_t site) const {
    const FixKey& key = found_.sites[site].key;
    return {places_.line_of(key.place), call_of(key), key, saving_of(site)};
  }

 private:
  std::string call_of(const FixKey& key) const {
    if (key.function == 0) return {};
    if (key.family == FixFamily::kLaunch) return "all launches in the range";
    if ((key.function & kHostFunctions) != 0)
      return std::string(host_call_word(static_cast<HostCall>(key.function & ~kHostFunctions)));
    return printable(api_name(trace_, ApiId{key.function}));
  }

  // "train.py:93"; where the line is not known, the function.
  std::string place_words(std::uint16_t site) const {
    const SourceLine where = places_.line_of(found_.sites[site].key.place);
    if (where.file.empty()) return where.function.empty() ? call_of(found_.sites[site].key) : where.function;
    const std::string file = path_text(where.file, printable(fact(trace_, "working_folder")));
    return where.line == 0 ? file : file + ":" + std::to_string(where.line);
  }

  const Trace& trace_;
  const WhatIf& found_;
  StackPlaces& places_;
};

std::vector<AskedWay> asked_ways(const WhatIf& found) {
  std::vector<AskedWay> ways;
  for (std::size_t i = 0; i < found.choices.size(); ++i) {
    for (std::size_t k = 0; k < found.choices[i].ways.size(); ++k) {
      const Way& way = found.choices[i].ways[k];
      AskedWay& row = ways.emplace_back();
      row.choice = i;
      row.taken = found.choices[i].taken == k;
      row.gain_ns = way.gain_ns;
      for (const std::uint16_t site : way.sites) {
        const Fix fix = found.sites[site].fix;
        if (std::find(row.fixes.begin(), row.fixes.end(), fix) == row.fixes.end()) row.fixes.push_back(fix);
      }
    }
  }
  return ways;
}

// The rule of the cause that costs most at one of the lines; null: none has a rule.
const Rule* rule_of_fixes(const Report& report, const std::vector<ShownFix>& fixes) {
  const IdleCause* dearest = nullptr;
  for (const DeviceReport& device : report.devices) {
    for (const std::vector<IdleCause>* causes : {&device.causes, &device.copy_causes}) {
      for (const IdleCause& cause : *causes) {
        const bool is_there =
            std::any_of(fixes.begin(), fixes.end(), [&](const ShownFix& fix) { return fix.key == cause.fix_key; });
        if (cause.rule != nullptr && is_there && (dearest == nullptr || cause.idle_ns > dearest->idle_ns))
          dearest = &cause;
      }
    }
  }
  return dearest == nullptr ? nullptr : dearest->rule;
}

// The replay knows how far its own choices differ, not that the host is slower or faster in the next process. Nine in
// ten of 17 changes that were timed are within so many points (docs/measurements/savings.md).
constexpr Share kHalfWidth = percent(4);
// What takes the place of a loop or of code on the CPU is new code, and the host is slower or faster by the run: 20
// such changes gained a quarter more than was said, or a sixth less (docs/measurements/wild.md).
constexpr Share kMoreOfLoop = {1, 4};
constexpr Share kOffOfNewCode = percent(10);  // share of all time

// PyTorch 2.11, torch.compile(mode="reduce-overhead"), on H200s: 0 to 26 % of the host time stayed in training, 9 % in
// inference, and about half of the time of the kernels that it fuses (docs/measurements/advice.md).
constexpr ShareRange kFused = {percent(50), percent(33), percent(75)};
constexpr WhatStays kTorchTrains = {{percent(5), percent(0), percent(18)}, kFused, true};
constexpr WhatStays kTorchInfers = {{percent(9), percent(6), percent(15)}, kFused, true};
constexpr Nanoseconds kTorchTrainsEachStepNs = 150'000;
constexpr Nanoseconds kTorchInfersEachStepNs = 70'000;

// The dearest first, but lines of a file before threads of which only a native function is known.
bool comes_before(const ShownFix& a, const ShownFix& b) {
  if (a.where.file.empty() != b.where.file.empty()) return b.where.file.empty();
  return a.saving.alone.ns > b.saving.alone.ns;
}

// The first change may save more than its replay said: what follows counts it, up to all of the time.
void keep_in_order(Nanoseconds base_ns, SavingsReport& savings) {
  Interval sum;
  for (Remedy& remedy : savings.remedies) {
    for (const auto part : {&Interval::lo_ns, &Interval::ns, &Interval::hi_ns})
      sum.*part = std::clamp(sum.*part, remedy.cumulative.*part, std::max(remedy.cumulative.*part, base_ns));
    remedy.cumulative.ns = sum.ns;
    remedy.cumulative.lo_ns = std::min(sum.lo_ns, sum.ns);
    remedy.cumulative.hi_ns = std::max(sum.hi_ns, sum.ns);
  }
}

std::vector<KernelAdvice> advice_on_kernels(const Trace& trace, const Attribution& attribution,
                                            const RemedyKinds& kinds, StackPlaces& places, const Report& report) {
  const auto device = std::find_if(report.devices.begin(), report.devices.end(),
                                   [&](const DeviceReport& each) { return each.id == report.verdict.device; });
  if (device == report.devices.end()) return {};
  const VerdictLine& verdict = report.verdict;
  const bool is_limit = verdict.word == "gpu-bound" && ratio(verdict.lacked_ns, verdict.of_ns) <= kHardlyLacking;
  return kernel_advice(trace, attribution.evidence->correlation, {device->name, is_limit}, kinds.frameworks(),
                       kinds.targets(), places);
}

void take_part(Share part, Interval& saving) {
  for (Nanoseconds* time : {&saving.lo_ns, &saving.ns, &saving.hi_ns}) *time = part.of(*time);
}

// The more is left, the more can still be gained.
void widen_for_new_code(const RemedyGroup& kind, Nanoseconds base_ns, Interval& saving) {
  const bool is_loop = kind.kind == RemedyKind::kAllAtOnce;
  const bool is_new =
      kind.kind == RemedyKind::kOnGpu || kind.kind == RemedyKind::kHostData || kind.kind == RemedyKind::kTestLess;
  if ((!is_loop && !is_new) || saving.grade == Grade::kNone || saving.ns <= 0) return;
  const Nanoseconds off_ns = kOffOfNewCode.of(base_ns);
  const Nanoseconds more_ns = std::min(is_loop ? kMoreOfLoop.of(saving.ns) : off_ns, (base_ns - saving.ns) / 2);
  saving.hi_ns = std::max(saving.hi_ns, add_saturated(saving.ns, more_ns));
  if (is_new) saving.lo_ns = std::min(saving.lo_ns, saving.ns - std::min(off_ns, saving.ns / 2));
}

void add_remedies(const WhatIf& found, const RemedyKinds& kinds, const std::vector<KernelAdvice>& advice,
                  const StackPlaces& places, const SavingsWriter& writer, Report& report) {
  Nanoseconds stays_ns = 0;  // what changes that bring a part of their fixes' savings leave
  for (const FixGroup& group : found.groups) {
    Remedy& remedy = report.savings.remedies.emplace_back();
    if (group.change) {
      remedy = kernel_remedy(advice[*group.change], group.alone, places);
      remedy.marginal = group.marginal;
      remedy.cumulative = group.cumulative;
      for (Nanoseconds* time : {&remedy.cumulative.lo_ns, &remedy.cumulative.ns})
        *time = std::max<Nanoseconds>(0, *time - stays_ns);
      for (Interval* saving : {&remedy.alone, &remedy.marginal, &remedy.cumulative}) widen(found.base_ns, *saving);
      continue;
    }
    for (const std::uint16_t site : group.sites) remedy.fixes.push_back(writer.fix_at(site));
    std::stable_sort(remedy.fixes.begin(), remedy.fixes.end(), comes_before);
    if (remedy.fixes.size() > kMostShownFixes) {
      remedy.more_fixes = remedy.fixes.size() - kMostShownFixes;
      remedy.fixes.resize(kMostShownFixes);
    }
    remedy.fix = remedy.fixes.front().saving.fix;
    const RemedyGroup& kind = kinds.group(kinds.group_of_key(found.sites[group.sites.front()].key));
    remedy.rule = kind.loop != nullptr   ? &kHostLoopRule
                  : kind.data != nullptr ? &kHostDataRule
                                         : rule_of_fixes(report, remedy.fixes);
    RemedyWords words =
        remedy_words(kind, kinds.frameworks().of(remedy.fixes), remedy.fixes, kinds.targets().modules());
    remedy.title = std::move(words.title);
    remedy.to_type = std::move(words.to_type);
    if (remedy.rule == &kCompileRule && kind.kind == RemedyKind::kPreload) {
      remedy.title = "Keep compilation out of the steps";
      remedy.to_type = recompile_words(kinds.frameworks().of(remedy.fixes), remedy.fixes.front().where);
    }
    remedy.by_library = kind.library != nullptr || kind.kind == RemedyKind::kByIndex;
    remedy.part = words.part;
    remedy.alone = group.alone;
    remedy.marginal = group.marginal;
    remedy.cumulative = group.cumulative;
    const Nanoseconds whole_ns = remedy.marginal.ns;
    take_part(words.part, remedy.alone);
    take_part(words.part, remedy.marginal);
    stays_ns += whole_ns - remedy.marginal.ns;
    for (Nanoseconds* time : {&remedy.cumulative.lo_ns, &remedy.cumulative.ns})
      *time = std::max<Nanoseconds>(0, *time - stays_ns);
    const bool lines_go = kind.kind == RemedyKind::kOnHost ||
                          (kind.kind == RemedyKind::kCompile && kinds.frameworks().of(remedy.fixes) == Framework::kJax);
    if (lines_go && report.savings.remedies.size() == 1)
      count_lines_gone(report, kind.function, found.base_ns, found.by_steps, remedy);
    for (Interval* saving : {&remedy.alone, &remedy.marginal, &remedy.cumulative}) widen(found.base_ns, *saving);
    for (Interval* saving : {&remedy.alone, &remedy.marginal, &remedy.cumulative})
      widen_for_new_code(kind, found.base_ns, *saving);
  }
  keep_in_order(found.base_ns, report.savings);
  for (std::size_t i = 0; i < found.groups.size(); ++i) report.savings.remedies[i].group = i;
}

}  // namespace

void widen(Nanoseconds base_ns, Interval& saving) {
  if (saving.grade == Grade::kNone || saving.ns <= 0) return;
  const Nanoseconds half_ns = std::min(kHalfWidth.of(base_ns), saving.ns / 2);
  saving.lo_ns = std::min(saving.lo_ns, saving.ns - half_ns);
  saving.hi_ns = std::max(saving.hi_ns, std::min(base_ns, add_saturated(saving.ns, half_ns)));
}

void add_savings(const Trace& trace, const Attribution& attribution, StackPlaces& places,
                 const WhatIfQuestion& question, Report& report) {
  if (!trace.has_timeline()) return;
  WishedFixes wished(question, places);
  const Evidence& evidence = *attribution.evidence;
  const DoneInRun run = done_in_run(trace, evidence.correlation, evidence.usual_launches, places);
  RemedyKinds kinds(trace, run, places, report.steps, starts_workers_again(trace, attribution.steps));
  WhatIfOptions options;
  options.group_of = [&](const FixSite& site, double alone_share, double each_step) {
    return kinds.group_of(site, alone_share, each_step);
  };
  options.what_goes = [&](StackPlace place) { return kinds.what_goes(place); };
  const bool trains = kinds.targets().any_backward();
  const auto is_compiled = [&](const FixSite& site) { return site.fix == Fix::kGraph && kinds.is_compiled(site); };
  options.what_stays = [&](const FixSite& site) {
    if (is_compiled(site)) return trains ? kTorchTrains : kTorchInfers;
    return site.key == key_of_all(site.key.place) ? kinds.what_stays(site.key.place) : WhatStays{};
  };
  options.compiled_each_step = trains ? kTorchTrainsEachStepNs : kTorchInfersEachStepNs;
  options.graph_range = question.graph_range;
  const std::vector<KernelAdvice> advice = advice_on_kernels(trace, attribution, kinds, places, report);
  for (const KernelAdvice& each : advice) {
    KernelChange& change = options.kernel_changes.emplace_back(each.change);
    if (each.rule == &kUnfusedRule) change.is_same = is_compiled;
    if (each.rule == &kUnfusedOptimizerRule)
      change.is_same = [&](const FixSite& site) {
        const RemedyGroup& group = kinds.group(kinds.group_of_key(site.key));
        return group.kind == RemedyKind::kOptimizer ||
               (group.library != nullptr && group.library->to_type.find("fused=True") != std::string_view::npos);
      };
  }
  RemedySets sets;
  if (question.with_sets) options.sets_of = [&](const WhatIf& groups) { return sets.to_replay(groups); };
  if (!question.empty()) options.asked = [&](const std::vector<FixSite>& sites) { return wished.choices(sites); };
  const auto place_of = [&](StackId stack) { return places.place_of(stack); };
  const bool is_long = rows_of(trace) > kMostReplayed;
  Nanoseconds looked_at_ns = 0;
  WhatIf found = is_long ? what_if_of_middle(trace, attribution, place_of, options, kMostReplayed, looked_at_ns)
                         : what_if(attribution, place_of, options);
  if (!is_long && found.by_steps && found.recorded_ns > 0) stand_for_ordinary_steps(attribution.steps, found);
  if (is_long && found.refusal.empty()) {
    report.losses.push_back({"savings-from-excerpt", 1, Severity::kNote,
                             "savings were predicted from " + duration_text(looked_at_ns) +
                                 " in the middle of the run and stand for all of it"});
  }
  const SlowSteps slow = find_slow_steps(attribution, places, report);
  if (found.refusal.empty()) stand_for_all_steps(slow, report.steps.figures, found);
  SavingsReport& savings = report.savings;
  static_cast<SavingsBase&>(savings) = found;
  if (!found.refusal.empty()) return;
  const SavingsWriter writer(trace, found, places);
  for (DeviceReport& device : report.devices) {
    for (std::vector<IdleCause>* causes : {&device.causes, &device.copy_causes}) {
      for (IdleCause& cause : *causes) {
        // Where nothing is known of the other thread's place, what the line itself saves is what its fix shows too.
        const bool goes_whole = number(cause.fix_key.place) != 0 && kinds.what_goes(cause.fix_key.place) == Goes::kAll;
        const FixKey whole = goes_whole ? key_of_all(cause.fix_key.place) : cause.line_key;
        for (const FixKey& key : {cause.fix_key, cause.line_key, whole}) {
          const std::uint16_t site = found.find(key);
          if (site == 0 || found.of_site(site) == nullptr) continue;
          cause.saving = writer.saving_of(site);
          cause.fix_key = key;
          break;
        }
      }
    }
  }
  for (const FixStep& step : found.order) {
    FixRow row{{}, step.marginal, step.cumulative};
    for (const std::uint16_t site : step.sites) row.fixes.push_back(writer.fix_at(site));
    savings.order.push_back(std::move(row));
  }
  add_remedies(found, kinds, advice, places, writer, report);
  widen(found.base_ns, savings.all);
  count_compilation(attribution, savings);
  savings.no_graph = kinds.obstacle();
  if (question.with_sets) savings.sets = sets.promised(found, savings);
  add_slow_step_remedies(slow, report.steps.figures, kinds.frameworks(), savings);
  if (found.asked) {
    AskedReport asked{*found.asked, {}, wished.notes(found), asked_ways(found)};
    for (const std::uint16_t site : found.asked_sites) asked.fixes.push_back(writer.fix_at(site));
    if (!question.graph_range.empty() && found.graph_site == 0)
      asked.notes.push_back("There is no NVTX range '" + printable(question.graph_range) + "'.");
    if (found.waits_in_graph > 0) {
      asked.notes.push_back(count_text(found.waits_in_graph) +
                            " waits in the range would have to leave it before it can become a graph.");
    }
    savings.asked = std::move(asked);
  }
  for (const Saving& saving : found.savings) {
    const bool in_vain = saving.moves_to != 0 &&
                         (saving.alone.grade == Grade::kNone || saving.alone.ns < kGainOfMoved.of(saving.moved_ns));
    if (in_vain && savings.in_vain.size() < kMostInVain) savings.in_vain.push_back(writer.fix_at(saving.site));
  }
}

}  // namespace synctrace
