// SPDX-License-Identifier: Apache-2.0
#include "model/stack_profile.h"

#include <limits>

namespace synctrace {

std::uint32_t StackProfile::index_of(const ProfileFrame& frame) {
  const auto [entry, is_new] = frame_index_.try_emplace(frame, static_cast<std::uint32_t>(frames_.size()));
  if (is_new) frames_.push_back(frame);
  return entry->second;
}

void StackProfile::add(std::span<const ProfileFrame> frames, Measure measure, std::int64_t weight) {
  constexpr std::size_t kInnermost = 3;
  if (weight <= 0 || frames.empty()) return;
  std::vector<std::uint32_t> path;
  const bool cut = text_bytes_ > kMostText && frames.size() > kInnermost;
  if (cut) {
    path.push_back(index_of({"..", {}, 0}));
    frames = frames.last(kInnermost);
  }
  std::size_t bytes = 0;
  for (const ProfileFrame& frame : frames) {
    path.push_back(index_of(frame));
    bytes += sizeof(std::uint32_t) + frame.function.size() + frame.file.size();
  }
  const auto [entry, is_new] = stack_index_.try_emplace(path, stacks_.size());
  if (is_new) stacks_.push_back({path, {}}), text_bytes_ += bytes;
  std::int64_t& sum = stacks_[entry->second].weights[static_cast<std::size_t>(measure)];
  constexpr std::int64_t kMostWeight = std::numeric_limits<std::int64_t>::max();
  sum = weight > kMostWeight - sum ? kMostWeight : sum + weight;
}

std::int64_t StackProfile::total(Measure measure) const noexcept {
  std::int64_t sum = 0;
  for (const WeightedStack& stack : stacks_) {
    const std::int64_t weight = stack.weights[static_cast<std::size_t>(measure)];
    sum = weight > std::numeric_limits<std::int64_t>::max() - sum ? std::numeric_limits<std::int64_t>::max()
                                                                  : sum + weight;
  }
  return sum;
}

}  // namespace synctrace
