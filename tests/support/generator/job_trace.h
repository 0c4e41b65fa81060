// SPDX-License-Identifier: Apache-2.0
// What a recorder would have written of one rank of a played job, on the rank's own clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/generator/job.h"
#include "support/trace_builder.h"

namespace synctrace::testing::generator {

struct JobClock {
  Nanoseconds offset_ns = 0;
  std::int64_t drift_ppm = 0;

  Nanoseconds of(Nanoseconds t) const { return t + offset_ns + t / 1'000'000 * drift_ppm; }
};

class JobTrace {
 public:
  JobTrace(const JobProgram& program, std::uint32_t rank, JobClock clock);

  void step(Nanoseconds t);
  void kernel(Nanoseconds launched_ns, Nanoseconds call_ns, TimeSpan span, std::uint32_t line);
  void collective(Nanoseconds asked_ns, Nanoseconds call_ns, TimeSpan span, std::uint64_t communicator,
                  std::uint64_t turn, std::uint64_t bytes);
  void sync(TimeSpan span, std::uint32_t line);
  void sleep(TimeSpan span, std::uint32_t line, format::HostCall call);
  void allocate(TimeSpan span, std::uint32_t line);
  void compute(TimeSpan span, std::uint32_t line, format::Sample::State state = format::Sample::State::kRunning);
  std::vector<std::byte> finish(Nanoseconds end_ns);

 private:
  void call(TimeSpan span, std::uint32_t line, std::uint32_t api);
  std::uint64_t length_of(TimeSpan span) const;
  void work(TimeSpan span, std::uint32_t stream, std::uint32_t name);

  TraceBuilder builder_;
  JobClock clock_;
  std::uint32_t correlation_ = 0;
  std::uint64_t groups_ = 0;
  std::vector<std::uint64_t> numbers_;  // each communicator's operations so far
  bool stepping_ = false;
  Nanoseconds begin_ns_ = 0;
};

}  // namespace synctrace::testing::generator
