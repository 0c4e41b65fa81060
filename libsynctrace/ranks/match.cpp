// SPDX-License-Identifier: Apache-2.0
#include "ranks/match.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace synctrace {
namespace {

// Each has turns of its own.
enum class Turns : std::uint8_t { kCollectives, kAllPairs, kPairs };

// The key by which a unit is found. Pairs have one for each send and receive.
struct Key {
  std::uint32_t communicator = 0;
  Turns turns = Turns::kCollectives;
  std::uint32_t sender = 0;    // only for a pair: its rank in the communicator + 1
  std::uint32_t receiver = 0;  // likewise
  std::uint64_t turn = 0;
  Member member;
};

auto place_of(const Key& key) { return std::tie(key.communicator, key.turns, key.sender, key.receiver, key.turn); }

class Matcher {
 public:
  explicit Matcher(std::span<const RankSummary> ranks) : ranks_(ranks) {}

  JobMatch run() {
    match_.meeting_of.resize(ranks_.size());
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      match_.meeting_of[rank].assign(ranks_[rank].units.size(), kNoMeeting);
      add_communicators(rank);
      add_keys(rank);
    }
    std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) {
      return std::tuple(place_of(a), a.member.rank, a.member.unit) <
             std::tuple(place_of(b), b.member.rank, b.member.unit);
    });
    for (std::size_t first = 0; first < keys_.size();) {
      std::size_t last = first + 1;
      while (last < keys_.size() && place_of(keys_[last]) == place_of(keys_[first])) ++last;
      meet(std::span(keys_).subspan(first, last - first));
      first = last;
    }
    return std::move(match_);
  }

 private:
  void add_communicators(std::uint32_t rank) {
    rows_.clear();
    for (const RankCommunicator& one : ranks_[rank].communicators) {
      const auto [known, is_new] =
          by_hash_.try_emplace(one.hash, static_cast<std::uint32_t>(match_.communicators.size()));
      if (is_new) match_.communicators.push_back({one.hash, 0, {}});
      JobCommunicator& row = match_.communicators[known->second];
      row.ranks = std::max(row.ranks, std::min(one.ranks, kMostRanks));
      if (row.traces.empty() || row.traces.back() != rank) row.traces.push_back(rank);
      rows_.push_back(known->second);
    }
  }

  void add_keys(std::uint32_t rank) {
    const RankSummary& summary = ranks_[rank];
    for (std::uint32_t unit = 0; unit < summary.units.size(); ++unit) {
      const CollectiveUnit& one = summary.units[unit];
      if (one.exchange != Exchange::kPairs && one.turn > 0)
        keys_.push_back({rows_[one.communicator],
                         one.is_of_pairs ? Turns::kAllPairs : Turns::kCollectives,
                         0,
                         0,
                         one.turn,
                         {rank, unit}});
    }
    for (const PairOperation& pair : summary.pairs) {
      const std::uint32_t own = summary.communicators[pair.communicator].rank;
      if (pair.turn == 0 || own >= kMostRanks || pair.peer >= kMostRanks) continue;
      const auto [from, to] = pair.is_send ? std::pair(own, pair.peer) : std::pair(pair.peer, own);
      keys_.push_back({rows_[pair.communicator], Turns::kPairs, from + 1, to + 1, pair.turn, {rank, pair.unit}});
    }
  }

  void meet(std::span<const Key> keys) {
    const std::uint32_t first = static_cast<std::uint32_t>(match_.members.size());
    for (const Key& key : keys) {
      // A damaged trace may tell one operation twice.
      if (match_.members.size() > first && match_.members.back().rank == key.member.rank) continue;
      match_.members.push_back(key.member);
    }
    const std::uint32_t count = static_cast<std::uint32_t>(match_.members.size()) - first;
    const JobCommunicator& communicator = match_.communicators[keys.front().communicator];
    const bool pairs = keys.front().turns == Turns::kPairs;
    if (count < 2 || (!pairs && !agree(first, count))) {
      match_.alone += count < 2 ? 1 : 0;
      match_.members.resize(first);
      return;
    }
    Meeting meeting{first,
                    count,
                    pairs ? 2 : communicator.ranks,
                    keys.front().communicator,
                    keys.front().turn,
                    unit_of(match_.members[first]).exchange,
                    true};
    std::size_t most = 0;
    for (std::uint32_t i = first; i < first + count; ++i) {
      const Member member = match_.members[i];
      if (const std::size_t steps = ranks_[member.rank].ordinary_steps; steps > most) {
        most = steps;
        meeting.in_steps = unit_of(member).in_steps;
      }
      std::uint32_t& known = match_.meeting_of[member.rank][member.unit];
      if (known == kNoMeeting) known = static_cast<std::uint32_t>(match_.meetings.size());
    }
    match_.meetings.push_back(meeting);
  }

  bool agree(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = first + 1; i < first + count; ++i) {
      const CollectiveUnit& one = unit_of(match_.members[first]);
      const CollectiveUnit& other = unit_of(match_.members[i]);
      if (one.signature == other.signature && one.exchange == other.exchange) continue;
      ++match_.disagreements;
      const std::uint32_t row = by_hash_.at(ranks_[match_.members[first].rank].communicators[one.communicator].hash);
      if (std::find(complained_.begin(), complained_.end(), row) == complained_.end() &&
          complained_.size() < kMostComplaints) {
        complained_.push_back(row);
        match_.mismatches.push_back({match_.members[first], match_.members[i], one.turn});
      }
      return false;
    }
    return true;
  }

  const CollectiveUnit& unit_of(Member member) const { return ranks_[member.rank].units[member.unit]; }

  static constexpr std::uint32_t kMostRanks = 1U << 20;
  static constexpr std::size_t kMostComplaints = 8;
  std::span<const RankSummary> ranks_;
  JobMatch match_;
  std::vector<Key> keys_;
  std::vector<std::uint32_t> rows_;  // JobMatch's communicator for each one of the rank at hand
  std::unordered_map<std::uint64_t, std::uint32_t> by_hash_;
  std::vector<std::uint32_t> complained_;
};

// Whether two ranks can belong to one job: asked for communicators whose number is not known.
bool may_be_one_job(const RankSummary& a, const RankSummary& b) {
  return a.job.empty() || b.job.empty() ? a.program == b.program : a.job == b.job;
}

}  // namespace

JobMatch match_ranks(std::span<const RankSummary> ranks) { return Matcher(ranks).run(); }

std::vector<std::uint32_t> ranks_of_one_job(std::span<const RankSummary> ranks) {
  std::vector<std::uint32_t> parent(ranks.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root_of = [&](std::uint32_t rank) {
    while (parent[rank] != rank) rank = parent[rank] = parent[parent[rank]];
    return rank;
  };
  std::unordered_map<std::uint64_t, std::uint32_t> seen;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    for (const RankCommunicator& one : ranks[rank].communicators) {
      const auto [first, is_new] = seen.try_emplace(one.hash, rank);
      if (is_new || (one.is_unnamed && !may_be_one_job(ranks[rank], ranks[first->second]))) continue;
      parent[root_of(rank)] = root_of(first->second);
    }
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> sets;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) sets[root_of(rank)].push_back(rank);
  std::vector<std::uint32_t> largest;
  for (auto& [root, set] : sets) {
    if (set.size() > largest.size()) largest = std::move(set);
  }
  return largest.size() < 2 ? std::vector<std::uint32_t>{} : largest;
}

}  // namespace synctrace
