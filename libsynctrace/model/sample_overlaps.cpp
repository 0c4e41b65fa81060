// SPDX-License-Identifier: Apache-2.0
#include "model/sample_overlaps.h"

#include <unordered_map>

namespace synctrace {

std::vector<TimeSpan> cut_overlapping_samples(std::vector<Sample>& samples) {
  std::vector<TimeSpan> claimed_twice;
  std::unordered_map<ThreadId, Sample*> last_of;
  for (Sample& sample : samples) {
    Sample*& last = last_of[sample.thread];
    if (last != nullptr && last->span.end_ns > sample.span.begin_ns) {
      claimed_twice.push_back({sample.span.begin_ns, last->span.end_ns});
      last->span.end_ns = sample.span.begin_ns;
    }
    last = &sample;
  }
  return claimed_twice;
}

}  // namespace synctrace
