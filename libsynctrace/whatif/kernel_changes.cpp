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
  gain.ns = after.ns - before.ns;
  gain.lo_ns = std::max<Nanoseconds>(0, after.lo_ns - before.lo_ns);
  gain.hi_ns = std::max(gain.ns, after.hi_ns - before.hi_ns);
  gain.grade = after.grade;
  return gain;
}

void add_kernel_changes(const std::vector<KernelChange>& changes, const ReplayProgram& program, const Bounds& bounds,
                        std::vector<FixGroup>& groups) {
  if (changes.empty()) return;
  std::vector<Changed> each(changes.size());
  for (std::size_t i = 0; i < changes.size(); ++i) take(changes[i], program.kernels, each[i]);
  const std::vector<Interval> alone = bounds.savings(each);
  std::deque<FixGroup> wanted(std::make_move_iterator(groups.begin()), std::make_move_iterator(groups.end()));
  std::vector<FixGroup> of_kernels;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto same = std::find_if(wanted.begin(), wanted.end(), [&](const FixGroup& group) {
      return changes[i].is_same && changes[i].is_same(program.sites[group.sites.front()]);
    });
    if (same != wanted.end() && same->alone.ns >= alone[i].ns) continue;
    if (same != wanted.end()) wanted.erase(same);
    of_kernels.push_back({{}, alone[i], {}, {}, i});
  }
  const auto with = [&](Changed all, const FixGroup& group) {
    all.sites.insert(all.sites.end(), group.sites.begin(), group.sites.end());
    if (group.change) take(changes[*group.change], program.kernels, all);
    return all;
  };
  // Each round asks what the next group and each of the changes would add.
  groups.clear();
  Changed all;
  std::vector<Changed> together;
  for (Nanoseconds before_ns = 0; !of_kernels.empty();) {
    std::vector<Changed> next;
    for (const FixGroup& change : of_kernels) next.push_back(with(all, change));
    if (!wanted.empty()) next.push_back(with(all, wanted.front()));
    const std::vector<Nanoseconds> saved = bounds.sample_savings(next);
    std::size_t best = 0;
    Nanoseconds most_ns = kNeverNs;
    for (std::size_t i = 0; i < next.size(); ++i) {
      const Nanoseconds more_ns = std::max<Nanoseconds>(0, saved[i] - before_ns);
      const Share weight = i < of_kernels.size() ? changes[*of_kernels[i].change].weight : Share(1, 1);
      if (weight.of(more_ns) <= most_ns) continue;
      most_ns = weight.of(more_ns);
      best = i;
    }
    before_ns = saved[best];
    together.push_back(all = next[best]);
    if (best == of_kernels.size()) {
      groups.push_back(std::move(wanted.front()));
      wanted.pop_front();
    } else {
      groups.push_back(of_kernels[best]);
      of_kernels.erase(of_kernels.begin() + static_cast<std::ptrdiff_t>(best));
    }
  }
  for (FixGroup& group : wanted) {
    together.push_back(all = with(all, group));
    groups.push_back(std::move(group));
  }
  const std::vector<Interval> saved = bounds.savings(together);
  Interval before;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].cumulative = saved[i];
    groups[i].marginal = more(before, saved[i]);
    before = saved[i];
  }
}

}  // namespace synctrace
