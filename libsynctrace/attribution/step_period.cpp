// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "attribution/step_candidates.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostTokens = 200'000;
constexpr std::size_t kMostAnchors = 64;
constexpr std::size_t kMostLags = 32;
constexpr double kAlike = 0.95;
constexpr double kAlikeByAnchor = 0.80;

// What was issued, without the shape of the launch: shapes vary from step to step.
std::uint64_t token_of(const Operation& operation) {
  std::uint64_t size_class = 0;
  for (std::uint64_t bytes = operation.bytes; bytes > 3; bytes /= 4) ++size_class;
  const std::uint64_t what = operation.kind == OperationKind::kKernel ? number(operation.name)
                             : operation.kind == OperationKind::kGraph
                                 ? number(operation.graph)
                                 : static_cast<std::uint64_t>(number(operation.copy_kind)) << 8 | size_class;
  return static_cast<std::uint64_t>(operation.kind) << 60 | what;
}

class Tokens {
 public:
  // Without the first `left_out` pieces of work.
  Tokens(const Trace& trace, const Correlation& correlation, std::size_t left_out) {
    std::unordered_map<std::uint64_t, std::uint32_t> numbers;
    std::size_t graphs = 0;
    for (const std::uint32_t row : correlation.by_issue().subspan(left_out)) {
      if (all.size() == kMostTokens) break;
      const Operation& work = trace.operations[row];
      const auto [entry, is_new] = numbers.try_emplace(token_of(work), static_cast<std::uint32_t>(numbers.size()));
      all.push_back(entry->second);
      times_ns.push_back(correlation.issued_ns(row));
      if (work.kind == OperationKind::kGraph) ++graphs;
    }
    kinds = numbers.size();
    are_graphs = static_cast<double>(graphs) >= kAlike * static_cast<double>(all.size());
  }

  std::vector<std::uint32_t> all;
  std::vector<Nanoseconds> times_ns;
  std::size_t kinds = 0;
  bool are_graphs = false;  // nearly all of them
};

// Mean likeness of the tokens of consecutive segments: 1 for the same multiset, 0 for nothing in common.
double likeness(const Tokens& tokens, const std::vector<std::size_t>& cuts) {
  if (cuts.size() < 3) return 0;
  std::vector<std::int64_t> balance(tokens.kinds);
  double sum = 0;
  for (std::size_t i = 0; i + 2 < cuts.size(); ++i) {
    const double a = static_cast<double>(cuts[i + 1] - cuts[i]);
    const double b = static_cast<double>(cuts[i + 2] - cuts[i + 1]);
    for (std::size_t k = cuts[i]; k < cuts[i + 1]; ++k) ++balance[tokens.all[k]];
    std::int64_t differing = 0;
    for (std::size_t k = cuts[i + 1]; k < cuts[i + 2]; ++k) --balance[tokens.all[k]];
    for (std::size_t k = cuts[i]; k < cuts[i + 2]; ++k) {
      differing += std::abs(balance[tokens.all[k]]);
      balance[tokens.all[k]] = 0;
    }
    sum += static_cast<double>(differing) / (a + b);
  }
  return 1 - sum / static_cast<double>(cuts.size() - 2);
}

class PeriodFinder {
 public:
  explicit PeriodFinder(const Tokens& tokens) : tokens_(tokens), positions_(tokens.kinds) {
    for (std::size_t i = 0; i < tokens.all.size(); ++i) positions_[tokens.all[i]].push_back(i);
    for (std::uint32_t kind = 0; kind < tokens.kinds; ++kind) {
      const std::size_t count = positions_[kind].size();
      if (count >= kFewestSteps && count * 2 <= tokens.all.size()) anchors_.push_back(kind);
    }
    std::stable_sort(anchors_.begin(), anchors_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return positions_[a].size() < positions_[b].size(); });
    if (anchors_.size() > kMostAnchors) anchors_.resize(kMostAnchors);
  }

  // Positions at which steps begin.
  std::vector<std::size_t> run() const {
    for (const std::size_t lag : lags()) {
      if (repeats_after(lag) < kAlike) continue;
      std::vector<std::size_t> cuts;
      for (std::size_t at = first_in_step(lag); at < tokens_.all.size(); at += lag) cuts.push_back(at);
      if (cuts.size() > kFewestSteps && likeness(tokens_, cuts) >= kAlike) return cuts;
    }
    return by_anchor();
  }

 private:
  // Distances between occurrences that a step could have, shortest first.
  std::vector<std::size_t> lags() const {
    std::vector<std::size_t> result;
    if (tokens_.are_graphs) result.push_back(1);  // compilers make one graph of a whole step
    for (const std::uint32_t anchor : anchors_) {
      const std::vector<std::size_t>& at = positions_[anchor];
      std::vector<std::size_t> distances;
      for (std::size_t i = 1; i < at.size(); ++i) distances.push_back(at[i] - at[i - 1]);
      const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
      std::nth_element(distances.begin(), middle, distances.end());
      const std::size_t lag = *middle;
      const auto close = [&](std::size_t other) { return (lag > other ? lag - other : other - lag) * 50 <= other; };
      if (std::none_of(result.begin(), result.end(), close)) result.push_back(lag);
      if (result.size() == kMostLags) break;
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  double repeats_after(std::size_t lag) const {
    if (lag * kFewestSteps > tokens_.all.size()) return 0;
    std::size_t same = 0;
    for (std::size_t i = 0; i + lag < tokens_.all.size(); ++i) same += tokens_.all[i] == tokens_.all[i + lag] ? 1U : 0U;
    return static_cast<double>(same) / static_cast<double>(tokens_.all.size() - lag);
  }

  // A rare token marks the begin as well as any other.
  std::size_t first_in_step(std::size_t lag) const {
    for (const std::uint32_t anchor : anchors_) {
      if (positions_[anchor].size() * lag <= tokens_.all.size() + lag) return positions_[anchor].front();
    }
    return 0;
  }

  std::vector<std::size_t> by_anchor() const {
    std::vector<std::size_t> best;
    double best_likeness = kAlikeByAnchor;
    for (const std::uint32_t anchor : anchors_) {
      const std::vector<std::size_t>& cuts = positions_[anchor];
      const std::size_t covered = cuts.back() - cuts.front();
      if (cuts.size() <= kFewestSteps || covered * 5 < tokens_.all.size() * 4) continue;
      const double alike = likeness(tokens_, cuts);
      if (alike < best_likeness || (alike == best_likeness && !best.empty())) continue;
      best = cuts;
      best_likeness = alike;
    }
    return best;
  }

  const Tokens& tokens_;
  std::vector<std::vector<std::size_t>> positions_;
  std::vector<std::uint32_t> anchors_;
};

}  // namespace

namespace {

StepCandidates steps_after(const Trace& trace, const Correlation& correlation, std::size_t left_out) {
  const Tokens tokens(trace, correlation, left_out);
  if (tokens.all.size() < 2 * kFewestSteps) return {};
  const std::vector<std::size_t> cuts = PeriodFinder(tokens).run();
  if (cuts.empty()) return {};
  StepCandidates result{StepSource::kPeriodicity, "", {}};
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const TimeSpan span{tokens.times_ns[cuts[i]], tokens.times_ns[cuts[i + 1]]};
    if (!span.empty()) result.steps.push_back(span);
  }
  if (result.steps.size() < kFewestSteps) return {};
  return result;
}

}  // namespace

// What comes first may be anything, and long: compilers try kernels out. So the later half counts as well, and its
// half.
StepCandidates steps_by_period(const Trace& trace, const Correlation& correlation) {
  const std::size_t count = correlation.by_issue().size();
  StepCandidates found;
  for (const std::size_t left_out : {std::size_t{0}, count / 2, count / 4 * 3}) {
    if (found.steps.empty()) found = steps_after(trace, correlation, left_out);
  }
  return found;
}

}  // namespace synctrace
