// SPDX-License-Identifier: Apache-2.0
#include "findings/slow_steps.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "attribution/attribute.h"
#include "base/format_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "findings/libraries/library_remedy.h"
#include "findings/middle_savings.h"
#include "findings/remedies/remedy_words.h"
#include "findings/slow_step_lines.h"
#include "whatif/fix_sites.h"

namespace synctrace {
namespace {

constexpr Share kWorthAChange = percent(5);     // share of the loop's time: less is a note below the changes
constexpr Share kWorthARow = percent(1);        // share of the loop's time, one cause alone
constexpr Share kNearlyAllExtra = percent(80);  // share of a doing's time in slow steps
constexpr Share kHardlyUsual = percent(10);  // share of a line's time in slow steps | slow steps that count as ordinary
constexpr std::size_t kMostRows = 4;
constexpr std::size_t kFewestSlowSteps = 2;  // what came once may never come again, and a longer run would not feel it
// The recorder makes compiling dearer, and some shapes are still compiled: three programs gained 92 to 95 % of it.
constexpr Share kGoneOfCompiling = percent(95);
constexpr Share kLeastGoneOfCompiling = percent(88);

void add(const Interval& more, Interval& sum) {
  sum.ns += more.ns;
  sum.lo_ns += more.lo_ns;
  sum.hi_ns += more.hi_ns;
  if (sum.grade == Grade::kNone) sum.grade = more.grade;
}

void take(const Interval& less, Interval& sum) {
  sum.ns = std::max<Nanoseconds>(0, sum.ns - less.ns);
  sum.lo_ns = std::clamp<Nanoseconds>(sum.lo_ns - less.lo_ns, 0, sum.ns);
  sum.hi_ns = std::max(sum.ns, sum.hi_ns - less.hi_ns);
}

// By which a time in all irregular steps exceeds that in as many ordinary ones. No product here leaves the range of
// times, whatever a damaged trace says.
Nanoseconds extra_of(Nanoseconds irregular_ns, Nanoseconds ordinary_ns, const StepFigures& steps) {
  const auto irregular = static_cast<Nanoseconds>(steps.irregular);
  const auto ordinary = static_cast<Nanoseconds>(steps.count - steps.irregular);
  return std::max<Nanoseconds>(0, irregular_ns / irregular - ordinary_ns / ordinary) * irregular;
}

struct Doing {
  StackId stack{};  // one of those at the place
  StackId until{};  // and of those behind it
  FixKey key;
  Nanoseconds steady_ns = 0;
  Nanoseconds irregular_ns = 0;
  Nanoseconds idle_ns = 0;
  Nanoseconds uncertain_ns = 0;
};

std::vector<SlowStepCause> causes_of(const std::vector<Cause>& causes, StackPlaces& places, const StepsReport& report) {
  std::map<std::tuple<CauseKind, StackPlace, StackPlace>, Doing> doings;
  std::map<StackPlace, std::pair<Nanoseconds, Nanoseconds>> at;  // in ordinary and in slow steps
  for (const Cause& cause : causes) {
    const CauseKind kind = cause.key.drained ? cause.key.activity_kind : cause.key.kind;
    const CallSiteKey& site = cause.key.drained ? cause.key.activity : cause.key.site;
    if (is_edge(kind) || kind == CauseKind::kUnknown) continue;
    const StackPlace place = places.place_of(site.stack);
    const StackPlace until = places.place_of(site.until);
    Doing& doing = doings[{kind, place, until}];
    if (doing.idle_ns == 0) {
      doing.stack = site.stack;
      doing.until = site.until;
      doing.key = fix_key_of_cause(kind, place, until, site.api, site.host_call);
    }
    at[place].first += cause.steady_ns;
    at[place].second += cause.irregular_ns;
    doing.steady_ns += cause.steady_ns;
    doing.irregular_ns += cause.irregular_ns;
    doing.idle_ns += cause.idle_ns;
    doing.uncertain_ns += cause.by_confidence[static_cast<std::size_t>(Confidence::kLow)];
  }
  std::set<StackPlace> usual;
  for (const auto& [place, times] : at) {
    if (ratio(times.first, times.second) > kHardlyUsual) usual.insert(place);
  }
  std::vector<SlowDoing> found;
  for (const auto& [what, doing] : doings) {
    const auto [kind, place, until] = what;
    const Nanoseconds extra_ns = extra_of(doing.irregular_ns, doing.steady_ns, report.figures);
    if (extra_ns == 0) continue;
    const double sure = 1 - static_cast<double>(doing.uncertain_ns) / static_cast<double>(doing.idle_ns);
    SlowStepCause cause{kind,
                        place,
                        number(place) == 0 ? SourceLine() : places.line_of(doing.stack),
                        doing.key,
                        {extra_ns, static_cast<Nanoseconds>(static_cast<double>(extra_ns) * sure), 0, Grade::kMedium}};
    const bool is_extra = ratio(extra_ns, doing.irregular_ns) >= kNearlyAllExtra;
    found.push_back({std::move(cause), until, doing.until, is_extra});
  }
  move_to_rare_lines(places, usual, report.name, found);
  std::vector<SlowStepCause> rows;
  for (SlowDoing& one : found) rows.push_back(std::move(one.cause));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const SlowStepCause& a, const SlowStepCause& b) { return a.saving.ns > b.saving.ns; });
  return rows;
}

// The collector runs at any line, and what is compiled again is compiled in forward and in backward.
bool is_one_everywhere(CauseKind kind) { return kind == CauseKind::kGarbageCollection || kind == CauseKind::kCompile; }

// What a compiler does in code that no stack shows, and what its new kernels need at their first launch.
bool may_be_compilers(CauseKind kind) {
  return kind == CauseKind::kHostCompute || kind == CauseKind::kLatency || kind == CauseKind::kLaunchBound ||
         kind == CauseKind::kModuleLoad;
}

// Where it is compiled again, the rest that slow steps take more at the same places goes with it.
void join_compilation(std::vector<SlowStepCause>& rows) {
  std::set<StackPlace> places;
  for (const SlowStepCause& row : rows) {
    if (row.kind == CauseKind::kCompile) places.insert(row.place);
  }
  for (SlowStepCause& row : rows) {
    if (may_be_compilers(row.kind) && places.contains(row.place)) row.kind = CauseKind::kCompile;
  }
}

// A line that does several things is one change.
void join_places(std::vector<SlowStepCause>& rows) {
  std::vector<SlowStepCause> joined;
  for (SlowStepCause& row : rows) {
    const auto is_same = [&](const SlowStepCause& one) {
      if (is_one_everywhere(row.kind) || is_one_everywhere(one.kind)) return one.kind == row.kind;
      return one.place == row.place && number(row.place) != 0;
    };
    const auto there = std::find_if(joined.begin(), joined.end(), is_same);
    if (there == joined.end())
      joined.push_back(std::move(row));
    else
      add(row.saving, there->saving);
  }
  rows = std::move(joined);
}

void leave_some_compilation(std::vector<SlowStepCause>& rows) {
  for (SlowStepCause& row : rows) {
    if (row.kind != CauseKind::kCompile) continue;
    row.saving.lo_ns = kLeastGoneOfCompiling.of(row.saving.lo_ns);
    row.saving.ns = kGoneOfCompiling.of(row.saving.ns);
  }
}

// Together they cannot save more than there is. What none of them explains may be any one's.
void bound(Nanoseconds extra_ns, std::vector<SlowStepCause>& rows) {
  Nanoseconds left_ns = extra_ns;
  for (SlowStepCause& row : rows) {
    row.saving.ns = std::min(row.saving.ns, left_ns);
    row.saving.lo_ns = std::min(row.saving.lo_ns, row.saving.ns);
    left_ns -= row.saving.ns;
  }
  for (SlowStepCause& row : rows) row.saving.hi_ns = row.saving.ns + left_ns;
}

// What the slow steps do and the others do not.
std::string_view words_of(CauseKind kind) {
  switch (kind) {
    case CauseKind::kCompile: return "compilation";
    case CauseKind::kModuleLoad: return "loading of code";
    case CauseKind::kHostCompute: return "host code";
    case CauseKind::kSleep: return "a sleep";
    case CauseKind::kIo: return "reading and writing";
    case CauseKind::kAllocation: return "allocation";
    case CauseKind::kRelease: return "freeing of memory";
    case CauseKind::kLaunchBound:
    case CauseKind::kLatency: return "slow launches";
    case CauseKind::kInput: return "waits for the loader";
    case CauseKind::kLoaderCompute: return "the loader's own work";
    case CauseKind::kPageableCopy:
    case CauseKind::kBlockingCopy: return "a copy";
    default: return cause_name(kind);
  }
}

std::vector<std::string> typed_for(const SlowStepCause& row) {
  switch (row.kind) {
    case CauseKind::kCompile:
      return recompile_words(has_file(row.where, "/jax/") ? Framework::kJax : Framework::kPyTorch, row.where);
    case CauseKind::kModuleLoad: {
      const Framework framework = has_python(row.where) ? Framework::kPyTorch : Framework::kCuda;
      return remedy_words({RemedyKind::kPreload, {}, nullptr}, framework, {}).to_type;
    }
    case CauseKind::kInput:
    case CauseKind::kLoaderCompute:
      if (!has_file(row.where, "/torch/utils/data/")) return {};
      return {"it begins anew there: draw fewer indices in its sampler; persistent_workers=True if it has workers"};
    case CauseKind::kHostCompute:
    case CauseKind::kSleep:
    case CauseKind::kIo:
      if (row.where.line == 0) return {};  // a reader cannot tell what it is
      return {"do it less often, or in another thread"};
    default: return {};
  }
}

// What a library offers for what slow steps do there; null: nothing.
const LibraryRemedy* remedy_of_library(const SlowStepCause& row, Framework framework) {
  const auto offered = [&](At at) { return library_remedy(row.where, at, package_of(framework)); };
  switch (row.kind) {
    case CauseKind::kPageableCopy:
    case CauseKind::kBlockingCopy:
    case CauseKind::kHiddenSync: return offered(At::kRead);
    case CauseKind::kAllocation:
    case CauseKind::kRelease: return offered(At::kMemory);
    case CauseKind::kHostCompute: {
      const LibraryRemedy* library = offered(At::kHost);
      return library != nullptr && library->goes ? library : nullptr;
    }
    default: return nullptr;
  }
}

// Its words say more than that it is better done elsewhere.
bool has_remedy(CauseKind kind) { return is_one_everywhere(kind) || kind == CauseKind::kModuleLoad; }

Remedy remedy_of(const SlowStepCause& row, const StepFigures& steps, Framework framework) {
  Remedy remedy;
  remedy.rule = rule_of_cause(row.kind, {});
  ShownFix& fix = remedy.fixes.emplace_back();
  fix.where = row.where;
  fix.key = row.key;
  fix.saving.alone = row.saving;
  remedy.fix = fix.saving.fix = Fix::kLikeOthers;
  if (row.kind == CauseKind::kGarbageCollection) {
    RemedyWords words =
        remedy_words({.kind = RemedyKind::kNoCollection, .function = {}}, Framework::kPyTorch, remedy.fixes);
    remedy.title = std::move(words.title);
    remedy.to_type = std::move(words.to_type);
    remedy.fix = fix.saving.fix = Fix::kNoCollection;
  } else if (const LibraryRemedy* library = remedy_of_library(row, framework)) {
    RemedyWords words = remedy_words({RemedyKind::kLibrary, {}, library}, framework, remedy.fixes);
    remedy.title = std::move(words.title);
    remedy.to_type = std::move(words.to_type);
    remedy.by_library = true;
  } else {
    remedy.title = format_text("Keep {} out of {} slow step{}", words_of(row.kind), count_text(steps.irregular),
                               steps.irregular == 1 ? "" : "s");
    remedy.to_type = typed_for(row);
  }
  remedy.alone = remedy.marginal = remedy.beside_replay = row.saving;
  return remedy;
}

// Behind the rows that save more, and those that follow count it. Returns the place for its figures.
template <class Row>
typename std::vector<Row>::iterator make_room(const Interval& saving, typename std::vector<Row>::iterator from,
                                              std::vector<Row>& rows) {
  auto at = std::find_if(from, rows.end(), [&](const Row& row) { return row.marginal.ns < saving.ns; });
  const Interval before = at == rows.begin() ? Interval{} : std::prev(at)->cumulative;
  at = rows.emplace(at);
  at->cumulative = before;
  return at;
}

// The first place for a change of which nobody knows what to type: behind those that say it and save a third as much.
std::vector<Remedy>::iterator behind_advice(Nanoseconds saved_ns, std::vector<Remedy>& remedies) {
  const auto last = std::find_if(remedies.rbegin(), remedies.rend(), [&](const Remedy& one) {
    return one.fix != Fix::kSpeedUp && !one.to_type.empty() && one.marginal.ns >= saved_ns / 3;
  });
  return last.base();
}

template <class Row>
void count_from(typename std::vector<Row>::iterator at, const Interval& saving, std::vector<Row>& rows) {
  for (; at != rows.end(); ++at) add(saving, at->cumulative);
}

// The line of the loader starts its workers, and takes its batches. A library's loop does all else there, too.
bool starts_at(const Remedy& loader, const SourceLine& where) {
  return where.line != 0 && std::any_of(loader.fixes.begin(), loader.fixes.end(), [&](const ShownFix& fix) {
           const bool is_one_call = fix.where.through.file == where.through.file;
           return fix.where.line == where.line && fix.where.file == where.file && is_one_call;
         });
}

}  // namespace

SlowSteps find_slow_steps(const Attribution& attribution, StackPlaces& places, const Report& report) {
  const StepsReport& steps = report.steps;
  if (steps.figures.irregular < kFewestSlowSteps || steps.figures.irregular >= steps.figures.count) return {};
  const Nanoseconds loop_ns = add_saturated(steps.ordinary_ns, steps.irregular_ns);
  const Nanoseconds extra_ns = extra_of(steps.irregular_ns, steps.ordinary_ns, steps.figures);
  if (extra_ns == 0 || ratio(extra_ns, loop_ns) < kWorthAChange) return {};
  const auto causes = attribution.causes.find(DeviceId{report.verdict.device});
  SlowSteps slow{extra_ns, {}};
  if (causes == attribution.causes.end()) return slow;
  slow.causes = causes_of(causes->second, places, steps);
  join_compilation(slow.causes);
  join_places(slow.causes);
  leave_some_compilation(slow.causes);
  bound(extra_ns, slow.causes);
  std::erase_if(slow.causes, [&](const SlowStepCause& row) { return ratio(row.saving.ns, loop_ns) < kWorthARow; });
  slow.causes.resize(std::min(slow.causes.size(), kMostRows));
  return slow;
}

void stand_for_all_steps(const SlowSteps& slow, const StepFigures& steps, WhatIf& found) {
  if (slow.extra_ns == 0 || !found.by_steps) return;
  scale(found, static_cast<double>(steps.count) / static_cast<double>(steps.count - steps.irregular));
  found.steps = steps.count;
  for (Nanoseconds* time : {&found.base_ns, &found.base_lo_ns, &found.base_hi_ns, &found.recorded_ns})
    *time = add_saturated(*time, slow.extra_ns);
  for (const SlowStepCause& row : slow.causes) add(row.saving, found.all);
  found.all.hi_ns = std::min(found.all.hi_ns, found.base_ns);
}

void add_slow_step_remedies(const SlowSteps& slow, const StepFigures& steps, const Frameworks& frameworks,
                            SavingsReport& savings) {
  if (slow.extra_ns == 0 || !savings.by_steps) return;
  savings.slow_ns = slow.extra_ns;
  std::vector<Remedy>& remedies = savings.remedies;
  for (const SlowStepCause& row : slow.causes) {
    Remedy remedy = remedy_of(row, steps, frameworks.of({&row.where}));
    const auto line = make_room(row.saving, savings.order.begin(), savings.order);
    line->fixes = remedy.fixes;
    line->marginal = row.saving;
    count_from(line, row.saving, savings.order);
    // Half the time of a line in each step is another change than what rare slow steps take there.
    auto at = std::find_if(remedies.begin(), remedies.end(), [&](const Remedy& one) {
      if (row.kind == CauseKind::kGarbageCollection && one.fix == Fix::kNoCollection) return true;
      if (one.fix == Fix::kFeedInput && starts_at(one, row.where)) return true;
      return one.fix != Fix::kSpeedUp &&
             std::any_of(one.fixes.begin(), one.fixes.end(), [&](const ShownFix& fix) { return fix.key == row.key; });
    });
    if (at == remedies.end()) {
      // Changes come first of which it is known what to type.
      const bool is_known = has_remedy(row.kind) || remedy.by_library;
      at = make_room(row.saving, is_known ? remedies.begin() : behind_advice(row.saving.ns, remedies), remedies);
      remedy.cumulative = at->cumulative;
      *at = std::move(remedy);
    } else {
      remedy = std::move(*at);
      for (auto next = remedies.erase(at); next != remedies.end(); ++next) take(remedy.marginal, next->cumulative);
      add(row.saving, remedy.beside_replay);
      add(row.saving, remedy.alone);
      add(row.saving, remedy.marginal);
      at = make_room(remedy.marginal, remedies.begin(), remedies);
      // What stands first saves what it saves alone; the rest of what it added goes to the change that stood there.
      if (at == remedies.begin() && std::next(at) != remedies.end() && remedy.marginal.ns > remedy.alone.ns) {
        Interval rest = remedy.marginal;
        take(remedy.alone, rest);
        add(rest, std::next(at)->marginal);
        count_from(std::next(at), rest, remedies);
        remedy.marginal = remedy.alone;
      }
      remedy.cumulative = at->cumulative;
      *at = std::move(remedy);
      count_from(at, at->marginal, remedies);
      continue;
    }
    count_from(at, row.saving, remedies);
  }
  // What each saves at most may be the same time.
  for (Remedy& remedy : remedies) {
    for (Interval* saving : {&remedy.alone, &remedy.marginal, &remedy.cumulative})
      saving->hi_ns = std::min(saving->hi_ns, savings.base_ns);
  }
}

}  // namespace synctrace
