// SPDX-License-Identifier: Apache-2.0
// Judges what a sample says its thread was doing, and how far it is to be believed: one sample is a hint, several that
// agree about a line are evidence.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "attribution/cause.h"
#include "attribution/stack_traits.h"
#include "model/trace.h"

namespace synctrace {

CauseKind kind_of_sample(const Sample& sample, const StackTraits& traits) noexcept;

class SampleVotes {
 public:
  SampleVotes(const Trace& trace, const StackReader& stacks);

  Confidence confidence_of(const Sample& sample, const StackTraits& traits) const;

 private:
  struct Votes {
    std::uint64_t all = 0;
    std::map<CauseKind, std::uint64_t> by_kind;
  };
  // The line of Python, or the stack where there is none.
  using Group = std::pair<std::uint64_t, StackId>;
  static Group group_of(const Sample& sample, const StackTraits& traits) noexcept;

  std::map<Group, Votes> votes_;
};

}  // namespace synctrace
