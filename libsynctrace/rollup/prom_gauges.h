// SPDX-License-Identifier: Apache-2.0
// Some gauges of the recordings of one rollup, in Prometheus' text format, for alerts. Their number is bounded whatever
// is recorded: a few of each job, of the jobs with most GPU time, and of the lines that cost most.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/time_span.h"
#include "rollup/tables.h"

namespace synctrace {

class PromGauges {
 public:
  // `job`: as the tables have it; may be empty.
  void add(const RolledRun& run, std::string_view job);

  std::string text() const;

 private:
  struct Line {
    std::string file;
    std::string function;
    std::int64_t number = 0;
    Nanoseconds idle_ns = 0;
  };
  struct Job {
    std::uint64_t recordings = 0;
    Nanoseconds end_ns = 0;  // the last recording's
    Nanoseconds gpu_ns = 0;
    Nanoseconds idle_ns = 0;
    Nanoseconds copy_only_ns = 0;
    Nanoseconds waiting_ns = 0;  // in collectives, for other ranks
    Nanoseconds others_waited_ns = 0;
    Nanoseconds host_waits_ns = 0;     // host threads, for a GPU
    Nanoseconds idle_in_steps_ns = 0;  // only in ordinary steps
    std::uint64_t waits = 0;
    std::uint64_t steps = 0;
    std::map<std::string, Nanoseconds> idle_by_rule;
    std::map<std::uint64_t, Line> lines;  // by site

    void add(const Job& other);
  };

  // So few that a server keeps them without noticing; all others together count as one job.
  std::map<std::string, Job> shown_jobs() const;

  std::map<std::string, Job> jobs_;
};

}  // namespace synctrace
