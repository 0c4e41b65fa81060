// SPDX-License-Identifier: Apache-2.0
#include "gate/job_ranks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace synctrace {
namespace {

// Hash and size of the communicator that has most ranks; of several, the one that most traces have.
std::optional<std::pair<std::uint64_t, std::uint32_t>> largest_communicator(std::span<const Observation> observations) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> traces;  // by size and hash
  for (const Observation& seen : observations) {
    for (const SeenCommunicator& one : seen.place.communicators) ++traces[{one.ranks, one.hash}];
  }
  const auto most = std::max_element(traces.begin(), traces.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first.first, a.second) < std::tuple(b.first.first, b.second);
  });
  if (most == traces.end() || most->second < 2) return std::nullopt;
  return std::pair(most->first.second, most->first.first);
}

std::vector<std::int64_t> labels_by_communicator(std::span<const Observation> observations, std::uint64_t hash) {
  std::vector<std::int64_t> labels;
  for (const Observation& seen : observations) {
    const std::vector<SeenCommunicator>& all = seen.place.communicators;
    const auto one = std::find_if(all.begin(), all.end(), [&](const SeenCommunicator& c) { return c.hash == hash; });
    const bool is_in = one != all.end();
    labels.push_back(!is_in ? kNoJobRank : seen.place.rank >= 0 ? seen.place.rank : std::int64_t{one->rank});
  }
  return labels;
}

std::vector<std::int64_t> labels_by_launcher(std::span<const Observation> observations) {
  std::vector<std::int64_t> labels;
  for (const Observation& seen : observations) {
    const bool is_in = !seen.place.job.empty() && seen.place.job == observations.front().place.job;
    labels.push_back(is_in ? seen.place.rank : kNoJobRank);
  }
  return labels;
}

}  // namespace

std::optional<GateJob> find_job(std::span<const Observation> observations) {
  if (observations.size() < 2) return std::nullopt;
  GateJob job;
  const auto communicator = largest_communicator(observations);
  job.labels =
      communicator ? labels_by_communicator(observations, communicator->first) : labels_by_launcher(observations);
  for (const std::int64_t label : job.labels) {
    if (label != kNoJobRank) job.ranks.push_back(label);
  }
  std::sort(job.ranks.begin(), job.ranks.end());
  const bool twice = std::adjacent_find(job.ranks.begin(), job.ranks.end()) != job.ranks.end();
  if (job.ranks.size() < 2 || twice) return std::nullopt;
  job.expected = std::max<std::uint64_t>(communicator ? communicator->second : 0, job.ranks.size());
  return job;
}

}  // namespace synctrace
