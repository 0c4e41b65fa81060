// SPDX-License-Identifier: Apache-2.0
// Several things may be done about one line: wait for less, launch less, load code earlier. A question that names only
// the line is answered by the one of them that gains most, and the others are told with what they would gain.
#pragma once

#include <optional>
#include <vector>

#include "whatif/evaluate.h"

namespace synctrace {

struct Way {
  FixSet sites;
  bool legal = true;        // else only what it would gain if it were
  bool by_name = false;     // not taken where there is another way
  Nanoseconds gain_ns = 0;  // with what was taken of the other choices
};

struct Choice {
  std::vector<Way> ways;             // starts with the most natural one
  std::optional<std::size_t> taken;  // none: the natural way is not legal there, and no other one gains
};

// Takes a way of each choice and says what each way gains. Gains that differ by less than `least_ns` are equal; the
// most natural way among equals is taken. Returns the sites of all that were taken.
FixSet take_ways(const Evaluator& evaluator, Nanoseconds least_ns, std::vector<Choice>& choices);

}  // namespace synctrace
