// SPDX-License-Identifier: Apache-2.0
// Host time between two graphs of one model that torch.compile could not keep in one piece. Each graph is entered
// through Python, in forward and again in backward. That time goes once nothing breaks the graph.
#pragma once

#include <optional>
#include <vector>

#include "attribution/host_timeline.h"

namespace synctrace {

class GraphBreaks {
 public:
  // By the names of PyTorch's functions in the stacks of launches and calls. Nothing is found without these.
  GraphBreaks(const Trace& trace, const HostTimeline& host);

  struct Answer {
    Nanoseconds begin_ns = 0;   // the answer holds from here to the moment asked about
    std::optional<Owner> line;  // between two graphs: a call or launch whose stack tells the line of the break
  };
  // Looks at the nanosecond before t.
  Answer at(HostTimeline::Index thread, Nanoseconds t) const;

 private:
  struct Between {
    TimeSpan span;
    Owner line;
  };
  std::vector<std::vector<Between>> found_;  // per thread, in order; empty: none at all
};

}  // namespace synctrace
