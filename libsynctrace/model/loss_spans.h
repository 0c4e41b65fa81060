// SPDX-License-Identifier: Apache-2.0
// When records may be missing. A loss is reported, or a hole in the file found, at a place of the file; the clock
// records around it bound the time: a recorder that writes one has written all that its threads had recorded before,
// and all GPU work that had ended before the last one but one. Where nothing bounds a loss, records may be missing at
// any time.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "model/trace.h"

namespace synctrace {

// Takes what bears on losses in the order of the file.
class LossSpans {
 public:
  void clock(Nanoseconds monotonic_ns);
  void loss(std::string_view name, Nanoseconds time_ns);
  void hole();     // records are missing from the file at this place
  void anytime();  // and nothing says when

  // The records of this stretch contradict each other.
  void stretch(TimeSpan span) { add({span.begin_ns, span.end_ns + 1}); }

  // `closed`: the recorder closed the trace in order. The spans are sorted and disjoint.
  std::vector<TimeSpan> finish(bool closed);

 private:
  void add(TimeSpan span) { spans_.push_back(span); }

  std::array<Nanoseconds, 3> clocks_{};  // the last ones, latest first; 0: before the first
  bool open_ = false;                    // a hole, until the next clock record
  Nanoseconds open_since_ns_ = 0;
  bool anytime_ = false;
  std::vector<TimeSpan> spans_;
};

// Whether records may be missing from a part of the span.
bool may_lack_records(const std::vector<TimeSpan>& lossy, TimeSpan span) noexcept;

}  // namespace synctrace
