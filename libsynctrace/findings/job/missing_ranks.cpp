// SPDX-License-Identifier: Apache-2.0
#include "findings/job/missing_ranks.h"

#include <algorithm>

#include "base/quantity_text.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostRuns = 6;  // runs of consecutive numbers in one text
constexpr std::uint64_t kMostNamed = 64;

}  // namespace

std::vector<std::int64_t> missing_ranks(std::span<const std::int64_t> ranks, std::uint64_t expected) {
  std::vector<std::int64_t> missing;
  const bool is_numbered = !ranks.empty() && ranks.front() >= 0 &&
                           std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end() &&
                           static_cast<std::uint64_t>(ranks.back()) < expected;
  if (!is_numbered || expected - ranks.size() > kMostNamed) return missing;
  std::int64_t next = 0;
  for (const std::int64_t rank : ranks) {
    for (; next < rank; ++next) missing.push_back(next);
    ++next;
  }
  for (; next < static_cast<std::int64_t>(expected); ++next) missing.push_back(next);
  return missing;
}

std::string ranks_text(std::span<const std::int64_t> ranks) {
  std::string text;
  std::size_t runs = 0;
  for (std::size_t i = 0; i < ranks.size(); ++runs) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (runs == kMostRuns) return "ranks " + text + " and " + count_text(ranks.size() - i) + " more";
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (last > i) text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

std::string missing_text(std::span<const std::int64_t> ranks, std::uint64_t expected) {
  const std::vector<std::int64_t> missing = missing_ranks(ranks, expected);
  if (!missing.empty()) return ranks_text(missing);
  const std::uint64_t count = expected - std::min<std::uint64_t>(expected, ranks.size());
  return count_text(count) + (count == 1 ? " rank" : " ranks");
}

}  // namespace synctrace
