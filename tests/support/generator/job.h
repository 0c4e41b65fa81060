// SPDX-License-Identifier: Apache-2.0
// A job of several ranks with known truth: each rank plays the same training loop on a GPU of its own, and all are
// joined at their collectives. What goes wrong on which rank is stated; who came last at each collective, how long the
// others waited, and how long the job took come out of the play. Shares no code with ranks/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time_span.h"

namespace synctrace::testing::generator {

// Something that a rank does and the others do not, in every step before the given bucket's all-reduce.
struct Fault {
  enum class What : std::uint8_t {
    kHostCode,    // computes for ns
    kRead,        // waits for its stream, then looks at the value for ns
    kLoader,      // waits for a data loader for ns
    kSlowKernel,  // a kernel takes ns more
    kCollector,   // Python collects garbage for ns
    kAllocate,    // cudaMalloc takes ns
    kPause,       // sleeps for ns
    kReadFile,    // waits for a file or socket for ns
    kLock,        // waits for a lock for ns
    kStarved,     // waits for a processor for ns
  };
  What what = What::kHostCode;
  std::uint32_t rank = 0;
  Nanoseconds ns = 0;
  std::uint32_t bucket = 0;
  bool in_turn = false;  // in each step on another rank, from `rank` on
};

struct JobProgram {
  std::uint32_t ranks = 2;
  std::uint32_t steps = 20;
  std::uint32_t buckets = 3;  // all-reduces a step
  std::uint32_t kernels = 6;  // before each of them
  Nanoseconds kernel_ns = 150'000;
  Nanoseconds transfer_ns = 80'000;
  std::uint32_t jitter_percent = 2;   // for each kernel on each rank
  Nanoseconds end_skew_ns = 2'000;    // ranks leave an operation apart by up to this
  std::uint32_t tensor_ranks = 0;     // all-reduce in groups of so many neighbours too, amid the kernels; 0: none
  bool reads_loss = true;             // all ranks wait for their GPU at the end of a step
  std::uint32_t small_exchanges = 0;  // all-reduces of small_bytes each, in a row behind the buckets
  std::uint64_t small_bytes = 64U << 10;
  bool needs_each = false;          // a kernel behind each of them waits for it
  bool one_size = false;            // all operations, the buckets too, have one size
  std::uint32_t passes = 1;         // in a step, each with all buckets
  Nanoseconds before_last_ns = 0;   // all ranks compute on the host for so long right before the last all-reduce,
  bool reads_before_last = false;   // or wait for their GPU first
  bool slow_gpu = false;            // the GPU of rank 0 takes a fifth more for each kernel
  Nanoseconds clock_offset_ns = 0;  // how far apart two ranks' clocks can be
  std::uint32_t drift_ppm = 0;      // and how much faster one can go
  std::vector<Fault> faults;
};

// One all-reduce, in true time.
struct TrueMeeting {
  std::uint64_t communicator = 0;  // its number
  std::uint64_t turn = 0;
  std::uint32_t step = 0;
  std::vector<std::uint32_t> ranks;
  std::vector<Nanoseconds> arrivals;  // beside ranks
  Nanoseconds transfer_ns = 0;

  std::uint32_t last() const;     // rank
  Nanoseconds margin_ns() const;  // to the one before it
  Nanoseconds wait_of(std::size_t i) const;
};

struct JobRun {
  std::vector<TrueMeeting> meetings;
  Nanoseconds end_ns = 0;                      // when the last step's work ends
  std::vector<std::vector<std::byte>> traces;  // from the ranks that were asked for
  std::vector<Nanoseconds> waited_alone_ns;    // by rank: in a collective, waiting, and nothing else ran
};

// The same program and seed give the same run. Traces are made of the ranks [first, last).
JobRun play_job(const JobProgram& program, std::uint64_t seed, std::uint32_t first = 0,
                std::uint32_t last = 0xffff'ffff);

inline constexpr std::uint32_t kReadLine = 62;  // where JobProgram::reads_before_last reads
inline constexpr std::uint32_t kHostLine = 64;  // where JobProgram::before_last_ns is spent

// The line of a fault's stack.
std::uint32_t line_of(Fault::What what);

}  // namespace synctrace::testing::generator
