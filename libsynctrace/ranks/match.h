// SPDX-License-Identifier: Apache-2.0
// The same operation on several ranks. Two units are the same operation when their communicators' numbers and their
// turns are, which needs no clock; what they did is compared, and where it differs nothing is concluded from them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ranks/rank_summary.h"

namespace synctrace {

inline constexpr std::uint32_t kNoRank = 0xffff'ffff;  // a rank is its row among the summaries
inline constexpr std::uint32_t kNoMeeting = 0xffff'ffff;

struct Member {
  std::uint32_t rank = 0;
  std::uint32_t unit = 0;
};

// One operation of the job.
struct Meeting {
  std::uint32_t first = 0;  // row of JobMatch::members, where its members begin; they are sorted by rank
  std::uint32_t count = 0;
  std::uint32_t expected = 0;      // ranks of the communicator; 0: not known
  std::uint32_t communicator = 0;  // row of JobMatch::communicators
  std::uint64_t turn = 0;
  Exchange exchange = Exchange::kTogether;
  bool in_steps = false;  // in an ordinary step of the rank there that has most of them
};

struct JobCommunicator {
  std::uint64_t hash = 0;
  std::uint32_t ranks = 0;            // 0: not known
  std::vector<std::uint32_t> traces;  // rows of the ranks that have it
};

// The first operation of a communicator that two ranks do not agree about: a program that goes wrong, or damage.
struct Mismatch {
  Member one;
  Member other;
  std::uint64_t turn = 0;
};

struct JobMatch {
  std::vector<JobCommunicator> communicators;
  std::vector<Meeting> meetings;
  std::vector<Member> members;
  std::vector<std::vector<std::uint32_t>> meeting_of;  // by rank and unit; kNoMeeting: none
  std::vector<Mismatch> mismatches;                    // at most one a communicator
  std::uint64_t disagreements = 0;                     // operations
  std::uint64_t alone = 0;                             // units that no other trace has

  std::span<const Member> members_of(const Meeting& meeting) const {
    return std::span(members).subspan(meeting.first, meeting.count);
  }
};

JobMatch match_ranks(std::span<const RankSummary> ranks);

// Which summaries belong to one job: those whose communicators are linked by shared ones, the largest such set. By row;
// fewer than two: they are no job.
std::vector<std::uint32_t> ranks_of_one_job(std::span<const RankSummary> ranks);

}  // namespace synctrace
