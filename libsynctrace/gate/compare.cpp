// SPDX-License-Identifier: Apache-2.0
#include "gate/compare.h"

#include <algorithm>
#include <tuple>

#include "base/format_text.h"
#include "base/name_text.h"
#include "base/quantity_text.h"
#include "gate/gate_words.h"
#include "render/json_parts.h"

namespace synctrace {
namespace {

// Times differ from run to run; less than this factor is no news.
constexpr double kDearerFactor = 1.5;
constexpr double kDearerStepNs = 100'000;  // nor is less than this a step
constexpr std::size_t kNameColumns = 60;

// The figures that lines are compared by: the most calls of a step and the wait of a step, or all of both.
struct Amount {
  std::uint64_t calls = 0;
  double waited_ns = 0;
};

Amount amount_of(const Finding& finding, bool by_steps) {
  const double waited_ns = static_cast<double>(finding.figures.host_blocked_ns);
  if (!by_steps) return {finding.figures.calls, waited_ns};
  return {finding.per_step, finding.steps == 0 ? 0 : waited_ns / static_cast<double>(finding.steps)};
}

bool is_dearer(const Amount& before, const Amount& after) {
  if (after.calls != before.calls) return after.calls > before.calls;
  return after.waited_ns - before.waited_ns > kDearerStepNs && after.waited_ns > kDearerFactor * before.waited_ns;
}

Change change_of(const Finding& before, const Finding& after, bool by_steps) {
  const Amount amounts[] = {amount_of(before, by_steps), amount_of(after, by_steps)};
  if (is_dearer(amounts[0], amounts[1])) return Change::kDearer;
  if (is_dearer(amounts[1], amounts[0])) return Change::kCheaper;
  return before.path != after.path || before.where.line != after.where.line ? Change::kMoved : Change::kSame;
}

std::vector<const Finding*> waiting(const GateResult& result) {
  std::vector<const Finding*> rows;
  for (const Finding& finding : result.findings) {
    if (finding.status == FindingStatus::kNew || finding.status == FindingStatus::kAllowed) rows.push_back(&finding);
  }
  return rows;
}

const Finding& shown(const ComparedLine& line) { return line.after ? *line.after : *line.before; }

std::string place_words(const ComparedLine& line) {
  std::string place = place_text(shown(line));
  if (line.change != Change::kMoved || !line.before) return place;
  return place + " (was " + place_text(*line.before) + ")";
}

std::string amount_words(const std::optional<Finding>& finding, bool by_steps) {
  if (!finding) return "-";
  const Amount amount = amount_of(*finding, by_steps);
  return count_text(amount.calls) + (by_steps ? " a step, " : " in all, ") +
         duration_text(static_cast<Nanoseconds>(amount.waited_ns)) +
         (finding->ranks.empty() ? "" : " on " + ranks_text(finding->ranks));
}

// The sort of steps that a side has, taken from its first trace.
void take_steps(const RunSide& side, std::string& source, std::string& name, std::string& doubt) {
  for (const JudgedTrace& trace : side.result.traces) {
    if (trace.judged_steps == 0) continue;
    source = trace.step_source;
    name = trace.step_name;
    doubt = trace.step_doubt;
    return;
  }
}

bool has_steps(const RunSide& side) {
  const std::vector<JudgedTrace>& traces = side.result.traces;
  return !traces.empty() && std::all_of(traces.begin(), traces.end(), [](const JudgedTrace& t) { return t.steps > 0; });
}

std::string source_words(const std::string& source, const std::string& name, const std::string& doubt) {
  if (source.empty()) return "none were found";
  if (source == "nvtx") return "NVTX ranges " + name;
  if (source == "profiler-step") return "ranges ProfilerStep#";
  if (source == "line") return "begun at a line of " + short_function_text(name, kNameColumns);
  if (source == "python-loop")
    return "turns of the loop in " + short_function_text(name, kNameColumns) +
           (doubt.empty() ? "" : ", guessed: " + doubt);
  return "guessed from work that repeats";
}

// "steps are NVTX ranges train_step"
std::string steps_words(const ComparedRuns& runs) {
  std::string words[2];
  for (std::size_t i = 0; i < 2; ++i)
    words[i] = source_words(runs.step_sources[i], runs.step_names[i], runs.step_doubts[i]);
  std::string text = "steps ";
  if (words[0] == words[1])
    text += words[0];
  else
    text += "before: " + words[0] + "; after: " + words[1];
  return text + (runs.by_steps ? "" : "; lines are compared by the whole recordings") + "\n";
}

std::string time_words(double ns) { return duration_text(static_cast<Nanoseconds>(ns)); }
std::string share_words(double share) { return format_text("{:.3g} %", 100 * share); }

std::string spread_words(const Spread& before, const Spread& after, std::string (*words)(double)) {
  const auto one = [&](const Spread& spread) {
    if (spread.count == 0) return std::string("not known");
    if (spread.count == 1) return words(spread.middle);
    return format_text("{} ({} to {}, {} values)", words(spread.middle), words(spread.low), words(spread.high),
                       spread.count);
  };
  std::string text = one(before) + " -> " + one(after);
  if (before.count > 0 && after.count > 0 && before.middle > 0) {
    const bool apart = after.low > before.high || after.high < before.low;
    text += format_text(", {:+.1f} %{}", 100 * (after.middle - before.middle) / before.middle,
                        apart || before.count + after.count == 2 ? "" : ", within the spread");
  }
  return text;
}

Json side_json(const std::optional<Finding>& finding) {
  if (!finding) return nullptr;
  return {{"file", json::text_or_null(finding->path)},
          {"line", json::line_or_null(finding->where.line)},
          {"count", finding->figures.calls},
          {"blocked_count", finding->figures.waited},
          {"count_per_step", finding->per_step},
          {"counted_in", counted_in_word(finding->counted_in)},
          {"host_blocked_ns", finding->figures.host_blocked_ns},
          {"steps", finding->steps},
          {"ranks", finding->ranks.empty() ? Json(nullptr) : Json(finding->ranks)},
          {"fingerprint", finding->fingerprint.digest()}};
}

Json steps_json(const ComparedRuns& runs, std::size_t side) {
  if (runs.step_sources[side].empty()) return nullptr;
  return {{"source", runs.step_sources[side]}, {"name", json::text_or_null(runs.step_names[side])}};
}

Json rank_json(const std::optional<RankTimes>& times) {
  if (!times) return nullptr;
  return {{"step_mean_ns", times->step_ns},
          {"waiting_ns", times->waiting_ns},
          {"others_waited_ns", times->others_waited_ns}};
}

Json jobs_json(const std::optional<ComparedJobs>& jobs) {
  if (!jobs) return nullptr;
  const auto side = [&](std::size_t i) -> Json {
    if (jobs->ranks[i] == 0) return nullptr;
    return {{"ranks", jobs->ranks[i]}, {"step_ns", jobs->step_ns[i]}, {"bound_by", jobs->headlines[i]}};
  };
  return {{"same", jobs->is_same()},
          {"before", side(0)},
          {"after", side(1)},
          {"changed_ranks", json::array_of(jobs->changed, [](const ComparedRank& rank) -> Json {
             return {{"rank", rank.label}, {"before", rank_json(rank.before)}, {"after", rank_json(rank.after)}};
           })}};
}

Json spread_json(const Spread& spread) {
  if (spread.count == 0) return nullptr;
  return {{"count", spread.count}, {"low", spread.low}, {"middle", spread.middle}, {"high", spread.high}};
}

// "train.py" for "python3 -m train.py --lr 1": a script, or else the program itself.
std::string program_word(std::string_view command) {
  std::string_view first;
  for (std::size_t begin = 0; begin < command.size();) {
    const std::size_t end = std::min(command.find(' ', begin), command.size());
    std::string_view word = command.substr(begin, end - begin);
    word.remove_prefix(word.rfind('/') + 1);
    if (word.ends_with(".py")) return std::string(word);
    if (first.empty()) first = word;
    begin = end + 1;
  }
  return std::string(first);
}

}  // namespace

std::string_view change_word(Change change) noexcept {
  constexpr std::string_view kWords[] = {"appeared", "dearer", "went", "cheaper", "moved", "same"};
  return kWords[static_cast<std::size_t>(change)];
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](std::size_t quarter) { return values[(values.size() - 1) * quarter / 4]; };
  return {values.size(), at(1), at(2), at(3)};
}

bool ComparedRuns::is_worse() const noexcept {
  return std::any_of(lines.begin(), lines.end(), [this](const ComparedLine& line) {
    if (line.change == Change::kAppeared) return true;
    return line.change == Change::kDearer &&
           amount_of(*line.after, by_steps).calls > amount_of(*line.before, by_steps).calls;
  });
}

bool ComparedRuns::is_of_two_programs() const noexcept {
  const auto is_pair = [](const ComparedLine& line) { return line.before && line.after; };
  return !programs[0].empty() && !programs[1].empty() && programs[0] != programs[1] && same == 0 && !lines.empty() &&
         std::none_of(lines.begin(), lines.end(), is_pair);
}

ComparedRuns compare_runs(const RunSide& before, const RunSide& after) {
  ComparedRuns runs;
  runs.by_steps = has_steps(before) && has_steps(after);
  take_steps(before, runs.step_sources[0], runs.step_names[0], runs.step_doubts[0]);
  take_steps(after, runs.step_sources[1], runs.step_names[1], runs.step_doubts[1]);
  const std::vector<const Finding*> old_rows = waiting(before.result);
  const std::vector<const Finding*> new_rows = waiting(after.result);
  Baseline baseline;
  for (const Finding* row : old_rows) baseline.entries.push_back({row->fingerprint, 0, {}});
  std::vector<Fingerprint> found;
  for (const Finding* row : new_rows) found.push_back(row->fingerprint);
  const std::vector<std::size_t> matches = match_baseline(baseline, found, [](const std::string&) { return true; });
  std::vector<bool> known(new_rows.size());
  for (std::size_t i = 0; i < matches.size(); ++i) {
    ComparedLine line{Change::kWent, *old_rows[i], std::nullopt};
    if (matches[i] != kNoMatch) {
      known[matches[i]] = true;
      line.after = *new_rows[matches[i]];
      line.change = change_of(*line.before, *line.after, runs.by_steps);
    }
    if (line.change == Change::kSame)
      ++runs.same;
    else
      runs.lines.push_back(std::move(line));
  }
  for (std::size_t i = 0; i < new_rows.size(); ++i) {
    if (!known[i]) runs.lines.push_back({Change::kAppeared, std::nullopt, *new_rows[i]});
  }
  std::stable_sort(runs.lines.begin(), runs.lines.end(), [](const ComparedLine& a, const ComparedLine& b) {
    return std::tuple(a.change, std::tie(shown(a).path, shown(a).where.line)) <
           std::tuple(b.change, std::tie(shown(b).path, shown(b).where.line));
  });
  runs.step_ns[0] = spread_of(before.step_ns);
  runs.step_ns[1] = spread_of(after.step_ns);
  runs.idle_share[0] = spread_of(before.idle_shares);
  runs.idle_share[1] = spread_of(after.idle_shares);
  runs.jobs = compare_jobs(before.job, after.job);
  for (std::size_t i = 0; i < 2; ++i) {
    const GateResult& result = i == 0 ? before.result : after.result;
    runs.ranks[i] = result.job ? result.job->ranks.size() : 1;
  }
  for (const RunSide* side : {&before, &after}) {
    for (const JudgedTrace& trace : side->result.traces) runs.simulated = runs.simulated || trace.simulated;
    if (!side->result.traces.empty())
      runs.programs[side == &after ? 1 : 0] = program_word(side->result.traces.front().program);
  }
  return runs;
}

std::string render_compared_text(const ComparedRuns& runs) {
  std::string text = steps_words(runs);
  if (runs.step_ns[0].count + runs.step_ns[1].count > 0)
    text += "step  " + spread_words(runs.step_ns[0], runs.step_ns[1], time_words) + "\n";
  if (runs.idle_share[0].count + runs.idle_share[1].count > 0)
    text += "idle  " + spread_words(runs.idle_share[0], runs.idle_share[1], share_words) + "\n";
  if (runs.jobs)
    text += compared_jobs_text(*runs.jobs);
  else if (runs.ranks[0] != runs.ranks[1])
    text += "ranks " + count_text(runs.ranks[0]) + " -> " + count_text(runs.ranks[1]) + "\n";
  for (const ComparedLine& line : runs.lines) {
    const Finding& finding = shown(line);
    text += format_text("{:9} {} [{} {}]: {} -> {}\n", change_word(line.change), place_words(line), finding.rule_id,
                        finding.rule_name, amount_words(line.before, runs.by_steps),
                        amount_words(line.after, runs.by_steps));
    if (!finding.where.source.empty()) text += "          " + finding.where.source + "\n";
  }
  text += runs.lines.empty()
              ? "no difference in lines"
              : count_text(runs.lines.size()) + (runs.lines.size() == 1 ? " line changed" : " lines changed");
  return text + format_text(", {} are the same{}\n", runs.same, runs.simulated ? "; simulated GPU" : "");
}

std::string render_compared_json(const ComparedRuns& runs) {
  const Json root = {
      {"schema_version", kGateSchemaVersion},
      {"worse", runs.is_worse()},
      {"simulated", runs.simulated},
      {"compared_by", runs.by_steps ? "steps" : "recordings"},
      {"steps", {{"before", steps_json(runs, 0)}, {"after", steps_json(runs, 1)}}},
      {"step_ns", {{"before", spread_json(runs.step_ns[0])}, {"after", spread_json(runs.step_ns[1])}}},
      {"idle_share", {{"before", spread_json(runs.idle_share[0])}, {"after", spread_json(runs.idle_share[1])}}},
      {"ranks", {{"before", runs.ranks[0]}, {"after", runs.ranks[1]}}},
      {"job", jobs_json(runs.jobs)},
      {"same", runs.same},
      {"lines", json::array_of(runs.lines, [](const ComparedLine& line) -> Json {
         const Finding& finding = shown(line);
         return {{"change", change_word(line.change)},
                 {"rule", finding.rule_id},
                 {"name", finding.rule_name},
                 {"function", json::text_or_null(finding.where.function)},
                 {"source", json::text_or_null(finding.where.source)},
                 {"before", side_json(line.before)},
                 {"after", side_json(line.after)}};
       })}};
  return root.dump(1) + "\n";
}

}  // namespace synctrace
