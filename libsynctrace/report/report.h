// SPDX-License-Identifier: Apache-2.0
// The conclusions about one process as data: what every renderer shows and what a gate judges. Times are ns. Owns all
// of its texts, so it outlives the trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attribution/device_state.h"
#include "base/time_span.h"
#include "model/frames.h"
#include "model/load_stats.h"
#include "report/rules.h"

namespace synctrace {

inline constexpr int kReportSchemaVersion = 1;

// What the calls of a site did, as a whole.
enum class SiteVerdict : std::uint8_t {
  kWaits,      // every call waited for the GPU
  kSometimes,  // some did
  kRedundant,  // explicit waits, never anything to wait for
  kOwnCopy,    // waited at most for its own transfer
  kNoWait,
  kUnclear,
};

struct CallSite {
  const Rule* rule = nullptr;  // null: no rule
  std::string function;        // of CUDA
  std::string direction;       // of a copy: "H2D", "D2H"...; else empty
  std::string memory;          // on the host's side of a copy: "pageable", "pinned"...; empty when there is none
  std::string note;            // "creates the context"; empty for most
  // The user's own line that made the call; an empty file: not known. `stack` is innermost first.
  std::string file;
  std::uint32_t line = 0;
  std::string caller;
  std::vector<ResolvedFrame> stack;
  bool can_wait = false;
  SiteVerdict verdict = SiteVerdict::kNoWait;
  std::uint64_t count = 0;
  std::uint64_t blocked_count = 0;
  std::uint64_t redundant_count = 0;
  std::uint64_t own_copy_count = 0;
  std::uint64_t unclear_count = 0;
  std::uint64_t by_length_count = 0;  // judged without the GPU timeline
  std::uint64_t failed_count = 0;     // returned an error
  std::uint64_t bytes = 0;
  Nanoseconds host_blocked_ns = 0;
  Nanoseconds host_ns = 0;  // length of the calls
  Nanoseconds longest_ns = 0;
};

struct PollSite {
  std::string function;
  std::uint64_t count = 0;
  std::uint64_t not_ready_count = 0;
  std::uint64_t waits = 0;  // runs of queries that stood for a wait
  Nanoseconds host_blocked_ns = 0;
};

struct DeviceReport {
  std::uint32_t id = 0;
  std::string name;
  DeviceState state;
};

// GPU work of one sort: "kernels", "graphs", "memsets", or a copy by direction and memory.
struct WorkReport {
  std::string what;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  Nanoseconds device_ns = 0;  // of each piece, added up: pieces may overlap
};

struct LossReport {
  std::string name;
  std::uint64_t count = 0;
  Severity severity = Severity::kWarning;
  std::string sentence;
};

struct Report {
  std::string path;
  std::string program;
  std::string executable;
  std::string host;
  std::string rank;
  std::string level;
  std::uint32_t process_id = 0;
  bool simulated = false;

  Nanoseconds recorded_ns = 0;  // first to last time in the trace
  std::vector<TimeSpan> windows;
  std::vector<std::string> window_reasons;
  bool has_timeline = false;
  bool covers_all = true;  // false: only calls that began in a window
  std::uint64_t left_out_calls = 0;

  std::vector<DeviceReport> devices;
  std::vector<CallSite> waits;       // all sites that can wait, dearest first
  std::vector<CallSite> long_calls;  // the others that took a millisecond or more in sum, dearest first
  std::vector<PollSite> polls;
  std::vector<WorkReport> work;
  std::vector<WorkReport> top_kernels;
  std::uint64_t launch_count = 0;
  Nanoseconds launch_host_ns = 0;
  Nanoseconds overhead_ns = 0;
  std::uint64_t overhead_count = 0;

  std::uint64_t call_count = 0;  // of all sites
  std::uint64_t blocked_count = 0;
  std::uint64_t by_length_count = 0;
  Nanoseconds host_blocked_ns = 0;
  std::vector<LossReport> losses;
};

}  // namespace synctrace
