// SPDX-License-Identifier: Apache-2.0
#include "ranks/exchange_patterns.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "model/tolerances.h"

namespace synctrace {
namespace {

constexpr std::size_t kFewestSmall = 8;    // in a row
constexpr std::size_t kFewestOfAPass = 2;  // where nothing else says what a pass is
constexpr double kOtherSize = 4;           // times the bytes: enough to tell what bytes cost

bool is_reduction(std::string_view operation) { return operation == "AllReduce" || operation == "ReduceScatter"; }

// Whether something that is no collective went on only when the unit had ended.
std::vector<bool> needed_at_once(const RankSummary& rank) {
  std::vector<bool> needed(rank.units.size(), false);
  for (const CollectiveUnit& unit : rank.units) {
    if (unit.after_end) needed[unit.after - 1] = true;
  }
  return needed;
}

// The units of ordinary steps by communicator.
std::map<std::uint32_t, UnitRun> by_communicator(const RankSummary& rank) {
  std::map<std::uint32_t, UnitRun> units;
  for (std::uint32_t i = 0; i < rank.units.size(); ++i) {
    if (rank.units[i].step != 0) units[rank.units[i].communicator].push_back(i);
  }
  return units;
}

std::uint32_t meeting_at(const Job& job, std::uint32_t rank, std::uint32_t unit) {
  return job.match.meeting_of[rank][unit];
}

Nanoseconds gap_of(const CollectiveUnit& unit, HeldBy by) {
  return std::min(by == HeldBy::kWait ? unit.drained_ns : unit.held_ns, unit.own.length_ns());
}

// How long the ranks that met stood still: the least, and the middle one's.
std::pair<Nanoseconds, Nanoseconds> common_gap(const Job& job, std::uint32_t meeting, HeldBy by) {
  std::vector<Nanoseconds> gaps;
  for (const Member member : job.match.members_of(job.match.meetings[meeting]))
    gaps.push_back(gap_of(job.ranks[member.rank].units[member.unit], by));
  std::sort(gaps.begin(), gaps.end());
  return {gaps.front(), gaps[(gaps.size() - 1) / 2]};
}

Interval in_order(Interval saving) {
  saving.ns = std::max<Nanoseconds>(0, saving.ns);
  saving.lo_ns = std::clamp<Nanoseconds>(saving.lo_ns, 0, saving.ns);
  saving.hi_ns = std::max(saving.hi_ns, saving.ns);
  saving.grade = saving.ns > 0 ? Grade::kMedium : Grade::kNone;
  return saving;
}

// The time of an operation beside the cost of its bytes: the likely value, and the least that the largest one leaves.
struct FixedTime {
  Nanoseconds likely_ns = 0;
  Nanoseconds least_ns = 0;
};

// The smallest and the largest operation of a sort, with their usual transfer.
struct Sizes {
  std::pair<std::uint64_t, Nanoseconds> smallest{UINT64_MAX, 0};
  std::pair<std::uint64_t, Nanoseconds> largest{0, 0};

  void add(std::uint64_t bytes, Nanoseconds usual_ns) {
    if (bytes < smallest.first) smallest = {bytes, usual_ns};
    if (bytes > largest.first) largest = {bytes, usual_ns};
  }

  std::optional<FixedTime> fixed_time() const {
    const auto [few, few_ns] = smallest;
    const auto [many, many_ns] = largest;
    if (many == 0 || static_cast<double>(many) < kOtherSize * static_cast<double>(few)) return std::nullopt;
    const double by_byte = std::max(0.0, static_cast<double>(many_ns - few_ns) / static_cast<double>(many - few));
    const double most_by_byte = static_cast<double>(many_ns) / static_cast<double>(many);
    const auto left_ns = [bytes = few, ns = few_ns](double ns_by_byte) {
      return std::max<Nanoseconds>(0, ns - static_cast<Nanoseconds>(ns_by_byte * static_cast<double>(bytes)));
    };
    return FixedTime{left_ns(by_byte), left_ns(most_by_byte)};
  }
};
using Sort = std::pair<std::uint32_t, std::uint32_t>;  // communicator and operation

std::map<Sort, Sizes> sizes_of(const Job& job, std::uint32_t rank) {
  std::map<Sort, Sizes> sizes;
  for (std::uint32_t i = 0; i < job.ranks[rank].units.size(); ++i) {
    const CollectiveUnit& unit = job.ranks[rank].units[i];
    const std::uint32_t meeting = meeting_at(job, rank, i);
    if (unit.bytes == 0 || meeting == kNoMeeting || !job.split.meetings[meeting].is_split) continue;
    sizes[{unit.communicator, unit.operation}].add(unit.bytes, job.split.meetings[meeting].usual_ns);
  }
  return sizes;
}

}  // namespace

std::vector<UnitRun> small_runs(const RankSummary& rank) {
  const std::vector<bool> needed = needed_at_once(rank);
  std::vector<UnitRun> runs;
  for (const auto& [communicator, units] : by_communicator(rank)) {
    UnitRun run;
    const auto close = [&] {
      if (run.size() >= kFewestSmall) runs.push_back(run);
      run.clear();
    };
    for (const std::uint32_t i : units) {
      const CollectiveUnit& unit = rank.units[i];
      const bool goes_on = !run.empty() && rank.units[run.back()].operation == unit.operation &&
                           rank.units[run.back()].step == unit.step;
      if (!goes_on) close();
      if (unit.bytes == 0 || unit.bytes > kSmallBytes || unit.exchange != Exchange::kTogether) {
        close();
        continue;
      }
      run.push_back(i);
      if (needed[i]) close();
    }
    close();
  }
  return runs;
}

std::vector<UnitRun> repeated_passes(const RankSummary& rank) {
  const std::vector<bool> needed = needed_at_once(rank);
  std::vector<UnitRun> repeated;
  for (const auto& [communicator, units] : by_communicator(rank)) {
    for (std::size_t first = 0; first < units.size();) {
      std::vector<UnitRun> passes(1);
      std::uint64_t bytes = 0;
      bool reduces = true;
      std::size_t i = first;
      for (; i < units.size() && rank.units[units[i]].step == rank.units[units[first]].step; ++i) {
        passes.back().push_back(units[i]);
        bytes += rank.units[units[i]].bytes;
        reduces = reduces && is_reduction(rank.operations[rank.units[units[i]].operation]);
        if (needed[units[i]]) passes.emplace_back();
      }
      first = i;
      if (passes.back().empty()) passes.pop_back();
      if (passes.size() < 2 || !reduces || bytes <= kSmallBytes) continue;
      const bool is_told = rank.micro_steps == passes.size();
      if (passes.front().size() < kFewestOfAPass && !is_told) continue;
      const bool alike = std::all_of(passes.begin(), passes.end(), [&](const UnitRun& pass) {
        return std::equal(
            pass.begin(), pass.end(), passes.front().begin(), passes.front().end(),
            [&](std::uint32_t a, std::uint32_t b) { return rank.units[a].signature == rank.units[b].signature; });
      });
      if (!alike) continue;
      UnitRun& all = repeated.emplace_back();
      for (std::size_t pass = 0; pass + 1 < passes.size(); ++pass)
        all.insert(all.end(), passes[pass].begin(), passes[pass].end());
    }
  }
  return repeated;
}

UnitRun held_units(const Job& job, std::uint32_t rank, HeldBy by) {
  UnitRun held;
  for (std::uint32_t i = 0; i < job.ranks[rank].units.size(); ++i) {
    const CollectiveUnit& unit = job.ranks[rank].units[i];
    const std::uint32_t meeting = meeting_at(job, rank, i);
    if (unit.step == 0 || meeting == kNoMeeting || gap_of(unit, by) < kSureMarginNs) continue;
    // A small one is seldom what a program has just computed: its place may be where it is for another reason.
    if (by == HeldBy::kHost && unit.bytes <= kSmallBytes) continue;
    if (gap_of(unit, HeldBy::kWait) + gap_of(unit, HeldBy::kHost) > 2 * gap_of(unit, by)) continue;
    if (common_gap(job, meeting, by).second >= kSureMarginNs) held.push_back(i);
  }
  return held;
}

std::optional<Interval> saving_of_merging(const Job& job, std::uint32_t rank, std::span<const UnitRun> runs) {
  const std::map<Sort, Sizes> sizes = sizes_of(job, rank);
  MeetingCuts likely(job.match.meetings.size());
  MeetingCuts least = likely;
  MeetingCuts most = likely;
  for (const UnitRun& run : runs) {
    const CollectiveUnit& first = job.ranks[rank].units[run.front()];
    const auto known = sizes.find({first.communicator, first.operation});
    const auto fixed = known == sizes.end() ? std::nullopt : known->second.fixed_time();
    if (!fixed) return std::nullopt;
    Nanoseconds before_ns = 0;  // transfer of all but the last
    for (const std::uint32_t unit : run) {
      const std::uint32_t meeting = meeting_at(job, rank, unit);
      if (meeting == kNoMeeting) continue;
      if (unit != run.back()) {
        before_ns = add_saturated(before_ns, job.split.meetings[meeting].usual_ns);
        for (MeetingCuts* cuts : {&likely, &least, &most}) (*cuts)[meeting].is_gone = true;
        continue;
      }
      const auto count = static_cast<Nanoseconds>(run.size() - 1);
      likely[meeting].shorter_ns = std::min<Nanoseconds>(0, count * fixed->likely_ns - before_ns);
      least[meeting].shorter_ns = std::min<Nanoseconds>(0, count * fixed->least_ns - before_ns);
    }
  }
  const auto saved = [&](const MeetingCuts& cuts) { return job.replay.saving(Cuts(job.ranks.size()), cuts); };
  return in_order({saved(likely), saved(least), saved(most), Grade::kNone});
}

Interval saving_without(const Job& job, std::uint32_t rank, std::span<const UnitRun> runs) {
  MeetingCuts gone(job.match.meetings.size());
  MeetingCuts shorter(job.match.meetings.size());
  for (const UnitRun& run : runs) {
    for (const std::uint32_t unit : run) {
      const std::uint32_t meeting = meeting_at(job, rank, unit);
      if (meeting == kNoMeeting) continue;
      gone[meeting].is_gone = true;
      shorter[meeting].shorter_ns = job.split.meetings[meeting].transfer_ns;
    }
  }
  const Cuts none(job.ranks.size());
  const Nanoseconds ns = job.replay.saving(none, gone);
  return in_order({ns, job.replay.saving(none, shorter), ns, Grade::kNone});
}

Interval saving_of_going_on(const Job& job, std::uint32_t rank, const UnitRun& units, HeldBy by) {
  Cuts likely(job.ranks.size());
  Cuts least(job.ranks.size());
  Cuts most(job.ranks.size());
  for (std::uint32_t i = 0; i < job.ranks.size(); ++i) {
    for (Cuts* cuts : {&likely, &least, &most}) (*cuts)[i].resize(job.ranks[i].units.size(), 0);
  }
  for (const std::uint32_t unit : units) {
    const std::uint32_t meeting = meeting_at(job, rank, unit);
    if (meeting == kNoMeeting) continue;
    const auto [least_ns, middle_ns] = common_gap(job, meeting, by);
    for (const Member member : job.match.members_of(job.match.meetings[meeting])) {
      const Nanoseconds own_ns = gap_of(job.ranks[member.rank].units[member.unit], by);
      likely[member.rank][member.unit] = std::min(own_ns, middle_ns);
      least[member.rank][member.unit] = least_ns;
      most[member.rank][member.unit] = own_ns;
    }
  }
  return in_order({job.replay.saving(likely), job.replay.saving(least), job.replay.saving(most), Grade::kNone});
}

std::size_t steps_with(const RankSummary& rank, std::span<const UnitRun> runs) {
  std::vector<std::uint32_t> steps;
  for (const UnitRun& run : runs) {
    for (const std::uint32_t unit : run) steps.push_back(rank.units[unit].step);
  }
  std::sort(steps.begin(), steps.end());
  return static_cast<std::size_t>(std::unique(steps.begin(), steps.end()) - steps.begin());
}

Nanoseconds transfer_of(const Job& job, std::uint32_t rank, std::span<const UnitRun> runs) {
  Nanoseconds sum_ns = 0;
  for (const UnitRun& run : runs) {
    for (const std::uint32_t unit : run) {
      const std::uint32_t meeting = meeting_at(job, rank, unit);
      if (meeting != kNoMeeting) sum_ns = add_saturated(sum_ns, job.split.meetings[meeting].transfer_ns);
    }
  }
  return sum_ns;
}

}  // namespace synctrace
