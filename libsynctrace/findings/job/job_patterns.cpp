// SPDX-License-Identifier: Apache-2.0
#include "findings/job/job_patterns.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "findings/report/rules.h"
#include "ranks/exchange_patterns.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostPatterns = 6;  // each takes three passes over all operations
constexpr std::size_t kFewestSteps = 3;

struct Words {
  std::string_view name;
  const Rule* rule;
  std::string_view title;
  std::string_view to_type;
};

constexpr Words kSmall{"small-collectives", &kSmallCollectivesRule, "Exchange this in fewer, larger pieces",
                       "DistributedDataParallel(model, bucket_cap_mb=100)  # default 25; not an all_reduce a tensor"};
constexpr Words kEveryPass{"collective-in-every-pass", &kLateCollectiveRule,
                           "Exchange gradients once a step, in its last pass",
                           "with model.no_sync(): loss.backward()  # in every pass but the last"};
constexpr std::string_view kEarlier =
    "work = dist.all_reduce(grad, async_op=True)  # first; then the line above; then work.wait()";
constexpr Words kLate{"late-collective", &kLateCollectiveRule, "Begin this exchange before the host's other work",
                      kEarlier};
constexpr Words kDrained{"drained-collective", &kDrainedCollectiveRule, "Read the value after the exchange has begun",
                         kEarlier};

class PatternFinder {
 public:
  PatternFinder(const Job& job, std::uint32_t rank, const UnitLines& lines)
      : job_(job), rank_(rank), units_(job.ranks[rank].units), lines_(lines) {}

  std::vector<JobPattern> run() {
    find_small();
    find_passes();
    find_held(HeldBy::kHost, kLate, lines_.held);
    find_held(HeldBy::kWait, kDrained, lines_.drained);
    std::stable_sort(rows_.begin(), rows_.end(), [](const JobPattern& a, const JobPattern& b) {
      return (a.saving ? a.saving->ns : -1) > (b.saving ? b.saving->ns : -1);
    });
    return std::move(rows_);
  }

 private:
  const RankSummary& summary() const { return job_.ranks[rank_]; }

  // Something that a program does in its steps, not once in a while.
  bool is_usual(std::span<const UnitRun> runs) const {
    const std::size_t steps = steps_with(summary(), runs);
    return steps >= kFewestSteps && 2 * steps >= summary().ordinary_steps;
  }

  JobPattern row_of(const Words& words, std::span<const UnitRun> runs, const std::vector<std::uint32_t>& lines) const {
    JobPattern row;
    row.name = words.name;
    row.rule = words.rule;
    row.title = words.title;
    row.to_type = {std::string(words.to_type)};
    std::map<std::uint32_t, std::size_t> found;
    std::map<std::uint32_t, std::size_t> operations;
    for (const UnitRun& run : runs) {
      for (const std::uint32_t unit : run) {
        ++row.count;
        row.bytes += units_[unit].bytes;
        if (lines[unit] != 0) ++found[lines[unit]];
        ++operations[units_[unit].operation];
      }
    }
    row.bytes /= std::max<std::uint64_t>(1, row.count);
    const std::size_t steps = std::max<std::size_t>(1, steps_with(summary(), runs));
    row.per_step = (row.count + steps / 2) / steps;
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    if (!operations.empty())
      row.operation = summary().operations[std::max_element(operations.begin(), operations.end(), by_count)->first];
    if (!found.empty()) row.where = lines_.lines[std::max_element(found.begin(), found.end(), by_count)->first];
    return row;
  }

  void find_small() {
    std::map<std::uint32_t, std::vector<UnitRun>> by_operation;
    for (UnitRun& run : small_runs(summary())) by_operation[units_[run.front()].operation].push_back(std::move(run));
    for (const auto& [operation, runs] : by_operation) {
      if (!is_usual(runs) || rows_.size() == kMostPatterns) continue;
      JobPattern row = row_of(kSmall, runs, lines_.launched);
      row.time_ns = transfer_of(job_, rank_, runs);
      row.saving = saving_of_merging(job_, rank_, runs);
      if (!row.saving)
        row.not_predicted = "all of them are of one size, so it is not known what of their time is fixed";
      rows_.push_back(std::move(row));
    }
  }

  void find_passes() {
    const std::vector<UnitRun> runs = repeated_passes(summary());
    if (!is_usual(runs)) return;
    JobPattern row = row_of(kEveryPass, runs, lines_.launched);
    row.time_ns = transfer_of(job_, rank_, runs);
    row.saving = saving_without(job_, rank_, runs);
    rows_.push_back(std::move(row));
  }

  void find_held(HeldBy by, const Words& words, const std::vector<std::uint32_t>& lines) {
    std::map<std::uint32_t, UnitRun> by_line;
    for (const std::uint32_t unit : held_units(job_, rank_, by)) by_line[lines[unit]].push_back(unit);
    for (const auto& [line, units] : by_line) {
      if (!is_usual(std::span(&units, 1)) || rows_.size() >= kMostPatterns) continue;
      JobPattern row = row_of(words, std::span(&units, 1), lines);
      for (const std::uint32_t unit : units)
        row.time_ns = add_saturated(row.time_ns, by == HeldBy::kWait ? units_[unit].drained_ns : units_[unit].held_ns);
      row.saving = saving_of_going_on(job_, rank_, units, by);
      rows_.push_back(std::move(row));
    }
  }

  const Job& job_;
  std::uint32_t rank_;
  const std::vector<CollectiveUnit>& units_;
  const UnitLines& lines_;
  std::vector<JobPattern> rows_;
};

}  // namespace

std::vector<JobPattern> find_job_patterns(const Job& job, std::uint32_t rank, const UnitLines& lines) {
  return PatternFinder(job, rank, lines).run();
}

}  // namespace synctrace
