// SPDX-License-Identifier: Apache-2.0
// Quantiles of any number of durations in little memory: exact for the first thousand; of more, counts by size, 32
// steps to each power of two, so that an answer is off by less than 2 %.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time_span.h"

namespace synctrace {

class DurationSketch {
 public:
  void add(Nanoseconds ns);  // not negative
  // The least value that is not smaller than the share q of all; zero where nothing was added.
  Nanoseconds quantile(double q) const;

 private:
  void count(Nanoseconds ns);

  std::vector<Nanoseconds> exact_;     // until there are too many
  std::vector<std::uint64_t> counts_;  // from then on, by bucket
  std::uint64_t total_ = 0;
};

}  // namespace synctrace
