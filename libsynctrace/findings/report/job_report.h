// SPDX-License-Identifier: Apache-2.0
// The conclusions about a job of several ranks as data: what every renderer shows. Times are ns, on each rank's own
// clock. A rank is named by its row in `ranks`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "findings/report/report.h"
#include "ranks/blame.h"
#include "ranks/device_time.h"

namespace synctrace {

struct JobDevice {
  std::uint32_t id = 0;
  std::string name;
  DeviceTime all;
  DeviceTime in_steps;
  DeviceUse use;  // all zero: nobody looked
};

struct JobRank {
  std::string path;
  std::string label;  // "3"; where no launcher numbers it, "process 4711"
  std::string host;
  std::string nccl;  // its version; empty: not known
  std::uint32_t process_id = 0;
  bool cut_short = false;          // its process was killed: the last of it is missing
  std::uint32_t gpus_as_one = 1;   // the process's GPUs that are ranks of their own and not told apart
  std::size_t steps = 0;           // ordinary ones
  Nanoseconds step_ns = 0;         // their mean
  Nanoseconds host_busy_ns = 0;    // the part of step_ns when some thread that launches was in no wait; 0: not known
  Nanoseconds lossy_ns = 0;        // how much of the recorded time may lack records
  std::vector<JobDevice> devices;  // the one with most collectives first
  // What the others waited for it, in ordinary steps; and how much later than the next rank it came, added up.
  Nanoseconds others_waited_ns = 0;
  Nanoseconds margin_ns = 0;
  std::uint64_t late_count = 0;
  std::uint64_t collectives = 0;
};

// What a rank did that the others waited for: ST060.
struct JobCause {
  // "scalar-read", "host-compute"; of GPU work "slow-kernel", "varying-kernel", "more-work", "slow-gpu"; "not known"
  std::string name;
  const Rule* rule = nullptr;  // the rule for what it did; null: none
  std::string kernel;          // where it is GPU work
  SourceLine where;
  std::vector<RankShare> ranks;   // that were late by it
  Nanoseconds waited_ns = 0;      // by the others
  Nanoseconds excess_ns = 0;      // what it took more than on another rank
  std::uint64_t count = 0;        // operations that it was late at
  Interval saving;                // the job's, a part of JobReport::base_ns
  Nanoseconds cumulative_ns = 0;  // with those before it
  bool adds_nothing = false;      // to those before it, because other ranks' hosts limit what can be saved
  std::string title;              // the remedy's
  std::vector<std::string> to_type;
};

// Some of the causes without the others.
struct JobCauseSet {
  std::uint64_t causes = 0;  // a bit for each, in their order
  Interval saving;           // like that of one cause, not more than JobReport::base_ns

  static constexpr std::uint64_t bit_of(std::size_t cause) noexcept {
    return cause < 64 ? std::uint64_t{1} << cause : 0;
  }
};

// A kernel that takes longer now on one rank, now on another: no line is at fault, and nobody can change it.
inline bool varies(const JobCause& cause) { return cause.name == "varying-kernel"; }

// How all ranks exchange data, where another way would be shorter: ST061 to ST063.
struct JobPattern {
  const Rule* rule = nullptr;
  std::string name;  // "small-collectives", "collective-in-every-pass", "late-collective", "drained-collective"
  std::string operation;
  SourceLine where;
  std::uint64_t count = 0;         // operations of a rank, in ordinary steps
  std::uint64_t per_step = 0;      // their number, on average, rounded
  std::uint64_t bytes = 0;         // the size of one, on average
  Nanoseconds time_ns = 0;         // ST061 and passes: their transfer; else the idle time before them: of a rank
  std::optional<Interval> saving;  // the job's, a part of JobReport::base_ns
  std::string not_predicted;       // why there is none
  std::string title;
  std::vector<std::string> to_type;
};

enum class JobShape : std::uint8_t {
  kEven,      // nobody holds anybody up
  kOneRank,   // the same rank most of the time
  kInTurn,    // another rank each time
  kOneGpu,    // the same rank, because its GPU is slower
  kMissing,   // a rank without a recording
  kNotKnown,  // somebody, but it is not known who
};

struct JobReport {
  std::string program;
  std::string device;  // the ranks' GPUs
  std::size_t hosts = 0;
  bool simulated = false;
  std::vector<JobRank> ranks;         // by number
  std::vector<std::string> left_out;  // "X.synctrace: no GPU work"
  std::size_t recorded_ranks = 0;     // GPUs, which is how NCCL counts them
  std::size_t expected_ranks =
      0;  // the size of the largest communicator; more than recorded_ranks: recordings are missing
  std::vector<std::int64_t> missing;  // ranks without a recording, as far as the launcher numbers all of them

  std::string verdict;  // "rank-bound", "communication-bound", or that of a rank as there are most
  // The verdict is "host-bound" because the hosts of all ranks are busy: a rank that is late is not why others wait.
  bool hosts_bind = false;
  JobShape shape = JobShape::kEven;
  std::uint32_t late = kNoRank;   // the rank that held the others up most
  Nanoseconds late_share_ns = 0;  // the part of waited_ns that was for it
  std::uint32_t usual = kNoRank;  // most ranks are like it
  double slow_gpu = 0;            // kOneGpu: how many times the others' time its kernels take
  // How many times the others' time the late rank's host takes for its launches and for what is between them, all of
  // them; 0: it is not slower, or not in all of them.
  double slow_host = 0;
  // What is left of the steps beside the busiest host of a rank that is not late: no change of the late one saves more.
  Nanoseconds left_by_hosts_ns = 0;
  // For how long another rank's host is busy in the steps, which limits the largest saving that it does; 0: it limits
  // none.
  Nanoseconds busy_hosts_ns = 0;
  VerdictLine usual_verdict;

  bool by_steps = false;
  std::size_t steps = 0;             // a rank's ordinary steps
  Nanoseconds base_ns = 0;           // what these took
  Nanoseconds alike_ns = 0;          // what the job would save if no rank took longer than the middle one
  Nanoseconds waited_ns = 0;         // in collectives, of all ranks together, in ordinary steps
  Nanoseconds not_looked_at_ns = 0;  // the part of it that is due to ranks whose lines were not looked for
  Nanoseconds not_known_ns = 0;
  // Means over the ranks, of their time in ordinary steps.
  Nanoseconds mean_whole_ns = 0;
  Nanoseconds mean_waiting_ns = 0;
  Nanoseconds mean_transfer_ns = 0;
  Nanoseconds mean_unsplit_ns = 0;
  Nanoseconds slow_transfer_ns = 0;  // what operations took longer than others like them, without anybody being late
  std::vector<JobCause> causes;      // largest saving first, but what varies last
  std::vector<JobPattern> patterns;  // likewise; those without a prediction last
  std::vector<JobCauseSet> sets;     // where they were asked for: what was replayed

  std::uint64_t operations = 0;  // the job's
  std::uint64_t without_partner = 0;
  std::uint64_t disagreements = 0;
  std::vector<std::string> mismatches;  // sentences
  std::uint64_t captured = 0;           // in CUDA graphs
  std::uint64_t unjoined = 0;           // without their call, or without their kernel
  Nanoseconds clock_residual_ns = 0;    // the largest
  std::vector<std::string> breaches;
};

}  // namespace synctrace
