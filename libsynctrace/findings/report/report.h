// SPDX-License-Identifier: Apache-2.0
// The conclusions about one process as data: what every renderer shows and what a gate judges. Times are ns. It owns
// all its texts, so it outlives the trace. Its parts have headers of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time_span.h"
#include "findings/report/call_sites.h"
#include "findings/report/devices.h"
#include "findings/report/host_lines.h"
#include "findings/report/kernels.h"
#include "findings/report/loader.h"
#include "findings/report/rank_in_job.h"
#include "findings/report/savings.h"
#include "findings/report/steps.h"
#include "findings/report/wait_figures.h"
#include "model/load_stats.h"

namespace synctrace {

inline constexpr int kReportSchemaVersion = 2;

// A part of the time: "launching".
struct TimePart {
  std::string name;
  Nanoseconds ns = 0;
};

struct VerdictLine {
  std::string word;      // "sync-bound"; empty: there is none
  std::string evidence;  // or why there is none; empty: no GPU worked
  bool is_hint = false;  // too much of it is uncertain
  // What `evidence` says of the time: of the busiest device, in the ordinary steps where there are any.
  std::uint32_t device = 0;
  Nanoseconds lacked_ns = 0;      // without work to compute: idle, or only copying
  Nanoseconds copying_ns = 0;     // its part with transfers
  Nanoseconds collective_ns = 0;  // beside it: only collectives ran
  // All of the time: "busy" first, then why the GPU lacked work; no part is 0.
  std::vector<TimePart> parts;
  Nanoseconds of_ns = 0;
};

// NVTX ranges of one name. Ranges of many names that differ in their digits alone are one row, with '#' for these.
struct RangeReport {
  std::string name;
  std::string domain;  // empty: NVTX's default
  std::uint64_t count = 0;
  Nanoseconds host_ns = 0;          // lengths, added up
  Nanoseconds host_blocked_ns = 0;  // their threads, inside them
  Nanoseconds issued_ns = 0;        // GPU work that their threads issued inside them
  Nanoseconds busy_ns = 0;          // devices were busy while one of them was open and the timeline was recorded
  Nanoseconds idle_ns = 0;          // likewise: in no work at all
};

struct LossReport {
  std::string name;
  std::uint64_t count = 0;
  Severity severity = Severity::kWarning;
  std::string sentence;
};

// A call of a collective operation of NCCL.
struct CollectiveCall {
  std::uint64_t communicator = 0;  // its hash: the same on all ranks
  std::uint64_t turn = 0;          // the operation's number in it
  std::uint32_t ranks = 0;         // in the communicator
  Nanoseconds time_ns = 0;
};
inline constexpr std::size_t kMostCollectiveCalls = 10'000;

struct Report {
  std::string path;
  std::string program;
  std::string executable;
  std::string folder;  // the working folder
  std::string host;
  std::string boot_id;  // since when the host's clock goes; empty: not known
  std::string rank;
  std::string nccl;  // its version, where the process asked it for an operation
  std::string level;
  std::string driver;             // its version; empty: not recorded
  std::uint64_t realtime_ns = 0;  // when the recording began, since 1970; 0: not known
  std::uint32_t process_id = 0;
  bool simulated = false;

  Nanoseconds recorded_ns = 0;  // first to last time in the trace
  RunTimes times;               // its parts, which add up to it
  std::vector<TimeSpan> windows;
  std::vector<std::string> window_reasons;
  bool has_timeline = false;
  std::string no_lines;    // why rows have no line of the program; empty: where they have none, the trace says no more
  bool covers_all = true;  // false: only calls that began in a window
  bool only_windows = false;  // waits outside of the windows were not recorded
  bool is_live = false;       // recorded on request: the recorder came late
  std::uint64_t left_out_calls = 0;
  Nanoseconds lossy_ns = 0;  // recorded time that may lack records

  VerdictLine verdict;
  std::optional<RankInJob> in_job;  // nothing: it was looked at alone
  StepsReport steps;
  std::vector<PhaseReport> phases;       // that of `steps` first, then by number; none without steps
  std::optional<RunPart> between_steps;  // outside of all phases; nothing: a small part of the recording
  std::vector<DeviceReport> devices;
  SavingsReport savings;
  std::optional<LoaderAdvice> loader;    // where the program waits for a data loader
  std::vector<CallSite> waits;           // all sites that can wait, and sleeps until GPU work ended, dearest first
  std::vector<CallSite> long_calls;      // the others that took a millisecond or more in sum, dearest first
  std::vector<CallSite> polls;           // queries, those that waited longest first
  std::vector<HostCallSite> host_waits;  // longest in sum first
  std::vector<SampledLine> samples;      // most first
  std::vector<WorkReport> work;
  std::vector<WorkReport> top_kernels;
  std::vector<KernelFamily> kernel_families;  // dearest first
  std::vector<KernelShare> kernel_classes;    // all kernels by kind and precision, dearest first
  std::vector<ApiReport> apis;                // most time first
  std::vector<RangeReport> ranges;            // most idle time of the devices first
  std::vector<CallSite> pageable_copies;      // by line and direction, most time of the host first
  std::vector<CallSite> step_allocations;     // take or give back memory in steps that are no warm-up; likewise
  std::uint64_t launch_count = 0;
  std::uint64_t collective_count = 0;  // operations of NCCL that were called
  std::vector<CollectiveCall>
      collective_calls;  // the first of these, where the GPU's work was not recorded: late_rank()
  Nanoseconds launch_host_ns = 0;
  Nanoseconds overhead_ns = 0;
  std::uint64_t overhead_count = 0;

  WaitFigures calls;  // all sites but `polls`; a copy and its synchronisation are two calls
  std::vector<LossReport> losses;
};

}  // namespace synctrace
