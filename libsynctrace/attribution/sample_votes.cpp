// SPDX-License-Identifier: Apache-2.0
#include "attribution/sample_votes.h"

#include "base/shares.h"

namespace synctrace {
namespace {

// Samples at a line that make evidence, and the share of them that must say the same.
constexpr std::uint64_t kEnoughSamples = 3;
constexpr Share kAgreeing = percent(80);

}  // namespace

CauseKind kind_of_sample(const Sample& sample, const StackTraits& traits) noexcept {
  const bool blocked = sample.state == format::Sample::State::kBlocked;
  if (traits.collector || sample.state == format::Sample::State::kCollecting) return CauseKind::kGarbageCollection;
  if (traits.compiler) return CauseKind::kCompile;
  if (traits.loader) return blocked ? CauseKind::kInput : CauseKind::kLoaderCompute;
  if (sample.state == format::Sample::State::kRunnable) return CauseKind::kCpuStarved;
  if (blocked) return traits.gil ? CauseKind::kGil : CauseKind::kPeerThread;
  return CauseKind::kHostCompute;
}

SampleVotes::SampleVotes(const Trace& trace, const StackReader& stacks) {
  for (const Sample& sample : trace.samples) {
    const StackTraits traits = stacks.traits(sample.stack);
    Votes& votes = votes_[group_of(sample, traits)];
    votes.all += sample.count;
    votes.by_kind[kind_of_sample(sample, traits)] += sample.count;
  }
}

SampleVotes::Group SampleVotes::group_of(const Sample& sample, const StackTraits& traits) noexcept {
  return traits.python ? Group{traits.python_line, StackId{}} : Group{0, sample.stack};
}

Confidence SampleVotes::confidence_of(const Sample& sample, const StackTraits& traits) const {
  const CauseKind kind = kind_of_sample(sample, traits);
  // A thread that is between two records and not asleep runs code of its own: that holds without any sample.
  // Whoever is in a compiler stays there for longer than from sample to sample, in many lines.
  if (kind == CauseKind::kHostCompute || kind == CauseKind::kCompile) return Confidence::kMedium;
  const auto found = votes_.find(group_of(sample, traits));
  if (found == votes_.end()) return Confidence::kLow;
  const Votes& votes = found->second;
  const auto agreeing = votes.by_kind.find(kind);
  const bool agree = agreeing != votes.by_kind.end() && ratio(agreeing->second, votes.all) >= kAgreeing;
  return votes.all >= kEnoughSamples && agree ? Confidence::kMedium : Confidence::kLow;
}

}  // namespace synctrace
