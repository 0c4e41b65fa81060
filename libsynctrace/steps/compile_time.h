// SPDX-License-Identifier: Apache-2.0
// When a compiler or an autotuner of a framework was at work. What it runs to choose among kernels, hundreds of times
// each, is no step of the program.
#pragma once

#include <map>
#include <vector>

#include "model/trace.h"

namespace synctrace {

class CompileTime {
 public:
  // By the Python code in the stacks of calls, waits and samples: from the first of a thread's to the last in a row.
  explicit CompileTime(const Trace& trace);

  // Whether work that a thread issued then is a compiler's: it compiles itself, or the process's first thread does
  // meanwhile, whose compiler has threads of its own.
  bool has(ThreadId thread, Nanoseconds t) const;

 private:
  bool is_inside(ThreadId thread, Nanoseconds t) const;

  std::map<ThreadId, std::vector<TimeSpan>> spans_;  // ascending, disjoint
  ThreadId first_thread_{};
};

}  // namespace synctrace
