// SPDX-License-Identifier: Apache-2.0
// What threads did outside of CUDA, by line: calls that blocked, and what samples found. Times are ns.
#pragma once

#include <cstdint>
#include <string>

#include "base/time_span.h"
#include "findings/report/source_line.h"

namespace synctrace {

struct HostThread {
  std::uint32_t id = 0;  // zero: not known
  std::string name;
  bool uses_cuda = false;
};

// A thread's blocking calls of one function of the C library from one line.
struct HostCallSite {
  SourceLine where;
  HostThread thread;
  std::string call;  // "semaphore", "condition variable"...
  std::uint64_t count = 0;
  std::uint64_t timed_out_count = 0;
  std::uint64_t interrupted_count = 0;
  std::uint64_t woken_count = 0;  // by a thread that is known
  HostThread waker;               // the one that did so most often
  Nanoseconds slept_ns = 0;
  Nanoseconds longest_ns = 0;
};

// A line at which samples found a thread.
struct SampledLine {
  SourceLine where;
  HostThread thread;
  std::string state;    // "running", "runnable", "blocked", "unknown"
  std::string channel;  // where in the kernel it sleeps; empty: not known
  std::uint64_t count = 0;
};

}  // namespace synctrace
