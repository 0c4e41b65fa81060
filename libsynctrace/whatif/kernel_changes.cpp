// SPDX-License-Identifier: Apache-2.0
#include "whatif/kernel_changes.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

namespace synctrace {
namespace {

void take_smaller(Share other, Share& share) {
  if (other.fraction() < share.fraction()) share = other;
}

// With one more change.
void take(const KernelChange& change, const std::vector<KernelClass>& kernels, Changed& all) {
  const std::vector<Share> whole(kernels.size(), Share(1, 1));
  for (KernelLengths* lengths : {&all.usual, &all.least, &all.most}) {
    if (lengths->empty()) *lengths = whole;
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const ShareRange stays = change.stays(kernels[i]);
    take_smaller(stays.usual, all.usual[i]);
    take_smaller(stays.least, all.least[i]);
    take_smaller(stays.most, all.most[i]);
  }
}

void add(const FixGroup& group, const std::vector<KernelChange>& changes, const ReplayProgram& program, Changed& all) {
  all.sites.insert(all.sites.end(), group.sites.begin(), group.sites.end());
  if (group.change) take(changes[*group.change], program.kernels, all);
}

}  // namespace

bool fuses(KernelKind kind) noexcept {
  switch (kind) {
    case KernelKind::kPointwise:
    case KernelKind::kReduction:
    case KernelKind::kSoftmax:
    case KernelKind::kNormalisation:
    case KernelKind::kLoss:
    case KernelKind::kCopy:
    case KernelKind::kCast:
    case KernelKind::kFill:
    case KernelKind::kRandom: return true;
    default: return false;
  }
}

Interval more(const Interval& before, const Interval& after) {
  Interval gain;
  gain.ns = std::max<Nanoseconds>(0, after.ns - before.ns);
  gain.lo_ns = std::max<Nanoseconds>(0, after.lo_ns - before.lo_ns);
  gain.hi_ns = std::max(gain.ns, after.hi_ns - before.hi_ns);
  gain.grade = after.grade;
  return gain;
}

namespace {

class Merge {
 public:
  Merge(const std::vector<KernelChange>& changes, const ReplayProgram& program, const Bounds& bounds,
        std::vector<FixGroup> groups)
      : changes_(changes),
        program_(program),
        bounds_(bounds),
        of_host_(std::make_move_iterator(groups.begin()), std::make_move_iterator(groups.end())) {}

  std::vector<FixGroup> run() {
    take_changes();
    Nanoseconds before_ns = 0;
    while (!of_kernels_.empty()) before_ns = take_next(before_ns);
    for (FixGroup& group : of_host_) append(std::move(group));
    const std::vector<Interval> saved = bounds_.savings(together_);
    Interval before;
    for (std::size_t i = 0; i < merged_.size(); ++i) {
      merged_[i].cumulative = saved[i];
      merged_[i].marginal = more(before, saved[i]);
      before = saved[i];
    }
    return std::move(merged_);
  }

 private:
  // Each with what it saves alone, but for those that a group does better.
  void take_changes() {
    std::vector<Changed> each(changes_.size());
    for (std::size_t i = 0; i < changes_.size(); ++i) take(changes_[i], program_.kernels, each[i]);
    const std::vector<Interval> alone = bounds_.savings(each);
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const auto same = std::find_if(of_host_.begin(), of_host_.end(), [&](const FixGroup& group) {
        return changes_[i].is_same && changes_[i].is_same(program_.sites[group.sites.front()]);
      });
      if (same != of_host_.end() && same->alone.ns >= alone[i].ns) continue;
      if (same != of_host_.end()) of_host_.erase(same);
      of_kernels_.push_back({{}, alone[i], {}, {}, i});
    }
  }

  Changed with(const FixGroup& group) const {
    Changed all = together_.empty() ? Changed() : together_.back();
    add(group, changes_, program_, all);
    return all;
  }

  void append(FixGroup group) {
    together_.push_back(with(group));
    merged_.push_back(std::move(group));
  }

  // The change or the next group that adds most by its weight. Returns what all save then.
  Nanoseconds take_next(Nanoseconds before_ns) {
    std::vector<Changed> next;
    for (const FixGroup& change : of_kernels_) next.push_back(with(change));
    if (!of_host_.empty()) next.push_back(with(of_host_.front()));
    const std::vector<Nanoseconds> saved = bounds_.sample_savings(next);
    std::size_t best = 0;
    Nanoseconds most_ns = kNeverNs;
    for (std::size_t i = 0; i < next.size(); ++i) {
      const Share weight = i < of_kernels_.size() ? changes_[*of_kernels_[i].change].weight : Share(1, 1);
      const Nanoseconds weighed_ns = weight.of(std::max<Nanoseconds>(0, saved[i] - before_ns));
      if (weighed_ns <= most_ns) continue;
      most_ns = weighed_ns;
      best = i;
    }
    if (best == of_kernels_.size()) {
      append(std::move(of_host_.front()));
      of_host_.pop_front();
    } else {
      append(of_kernels_[best]);
      of_kernels_.erase(of_kernels_.begin() + static_cast<std::ptrdiff_t>(best));
    }
    return saved[best];
  }

  const std::vector<KernelChange>& changes_;
  const ReplayProgram& program_;
  const Bounds& bounds_;
  std::deque<FixGroup> of_host_;  // in their order
  std::vector<FixGroup> of_kernels_;
  std::vector<FixGroup> merged_;
  std::vector<Changed> together_;  // beside these: all up to there
};

}  // namespace

void add_kernel_changes(const std::vector<KernelChange>& changes, const ReplayProgram& program, const Bounds& bounds,
                        std::vector<FixGroup>& groups) {
  if (!changes.empty()) groups = Merge(changes, program, bounds, std::move(groups)).run();
}

std::vector<GroupSet> group_sets(const std::vector<KernelChange>& changes, const ReplayProgram& program,
                                 const Bounds& bounds, const std::vector<FixGroup>& groups,
                                 std::vector<std::vector<std::size_t>> sets) {
  std::vector<Changed> together(sets.size());
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (const std::size_t group : sets[i]) add(groups[group], changes, program, together[i]);
  }
  const std::vector<Interval> saved = bounds.savings(together);
  std::vector<GroupSet> result;
  for (std::size_t i = 0; i < sets.size(); ++i) result.push_back({std::move(sets[i]), saved[i]});
  return result;
}

}  // namespace synctrace
