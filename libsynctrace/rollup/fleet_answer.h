// SPDX-License-Identifier: Apache-2.0
// What a dataset says about many recordings: the answers of docs/fleet.md, for sets that one machine reads in a moment.
// The rows are added up as they come, so memory goes with the number of lines, jobs, hosts and recordings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time_span.h"

namespace synctrace {

struct FleetLine {
  std::uint64_t site = 0;
  std::string rule;  // or, without one, the name
  std::string file;
  std::int64_t line = 0;
  std::string function;
  Nanoseconds idle_ns = 0;
  std::uint64_t recordings = 0;
};

struct FleetJob {
  std::string name;
  Nanoseconds idle_ns = 0;  // all GPUs' together
  Nanoseconds gpu_ns = 0;   // how long they were recorded, together
  std::uint64_t recordings = 0;
};

struct FleetHost {
  std::string name;
  Nanoseconds others_waited_ns = 0;  // for ranks on it
  std::int64_t times_late = 0;
  std::uint64_t recordings = 0;
};

struct FleetCommit {
  std::string name;
  Nanoseconds since_ns = 0;        // begin of its first recording, since 1970
  Nanoseconds idle_ns_a_step = 0;  // for one process of a GPU, in ordinary steps
  std::uint64_t recordings = 0;
};

struct FleetAnswer {
  std::uint64_t recordings = 0;
  Nanoseconds idle_ns = 0;  // all jobs' together
  Nanoseconds gpu_ns = 0;
  std::vector<FleetLine> lines;      // most idle time first, without the edges of recordings
  std::vector<FleetJob> jobs;        // most idle time first
  std::vector<FleetHost> hosts;      // most waited for first, without those nobody waited for
  std::vector<FleetCommit> commits;  // by time; of recordings with steps
};

class FleetReader {
 public:
  // A file of one of the tables, in any order; others than runs, ranks and sites are left alone. `job`: of its folder's
  // name. The error is without the file's name; of such a file the rows before the error count.
  std::optional<Error> add(std::string_view table, std::string_view job, std::string_view file);

  FleetAnswer answer() const;

 private:
  struct Run {
    std::string commit;
    Nanoseconds begin_ns = 0;
    std::int64_t steps = 0;  // ordinary ones
    Nanoseconds idle_in_steps_ns = 0;
  };

  std::optional<Error> add_runs(std::string_view file);
  std::optional<Error> add_ranks(std::string_view job, std::string_view file);
  std::optional<Error> add_sites(std::string_view file);

  std::unordered_map<std::uint64_t, Run> runs_;
  std::unordered_map<std::uint64_t, FleetLine> lines_;  // by site
  std::map<std::string, FleetJob, std::less<>> jobs_;
  std::map<std::string, FleetHost, std::less<>> hosts_;
};

}  // namespace synctrace
