// SPDX-License-Identifier: Apache-2.0
// How much slower a loop goes than usual, by how often a second each of its lines calls CUDA. This needs no steps: in a
// short look the loop that reads a value every ten steps may be found, and in the next the steps themselves. Calls that
// are new say nothing.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "watch/look.h"

namespace synctrace {

class UsualPace {
 public:
  static constexpr std::size_t kFewestLooks = 5;

  // A look that is as usual, or at another loop. The last 60 count.
  void add(const Look& look);

  // Some line is usual, and often enough in a look of this length to be judged by. One that has none of them then is at
  // another loop, whose steps are not to be compared.
  bool is_known(double length_s) const;

  // 2: the loop goes half as fast as usual; not above 1 where chance explains it. Nothing: too few looks, or no line
  // that is in most of them called often enough, as behind the loop's end.
  std::optional<double> slowdown(const Look& look) const;

 private:
  double usual_rate(const std::string& line) const;

  std::deque<std::map<std::string, double, std::less<>>> looks_;
};

}  // namespace synctrace
