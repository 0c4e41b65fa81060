// SPDX-License-Identifier: Apache-2.0
#include "support/generator/job.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "support/generator/job_trace.h"

namespace synctrace::testing::generator {
namespace {

constexpr Nanoseconds kBeginNs = 50'000'000;
constexpr Nanoseconds kLaunchNs = 5'000;
constexpr Nanoseconds kLatencyNs = 7'000;
constexpr Nanoseconds kPauseNs = 1'000;
constexpr Nanoseconds kEventNs = 4'000;   // end of a stream's work to the start of another's that waits for it
constexpr Nanoseconds kReturnNs = 6'000;  // end of the work to the return of a wait
constexpr std::uint64_t kAllRanks = 0xa11;
constexpr std::uint64_t kBucketBytes = 25U << 20;
constexpr Nanoseconds kEmptyTransferNs = 15'000;  // an operation without bytes takes so long

// A rank's host and its two streams, in true time.
struct RankState {
  Nanoseconds host_ns = kBeginNs;
  Nanoseconds compute_ns = kBeginNs;  // end of the last work of the stream
  Nanoseconds exchange_ns = kBeginNs;
  std::vector<TimeSpan> work;  // kernels since the last look, to see what a collective was alone in
  std::unique_ptr<JobTrace> trace;
};

class JobPlayer {
 public:
  JobPlayer(const JobProgram& program, std::uint64_t seed, std::uint32_t first, std::uint32_t last)
      : program_(program), states_(program.ranks), turns_(1 + program.ranks, 0) {
    run_.waited_alone_ns.resize(program.ranks, 0);
    for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
      random_.emplace_back(seed * 7919 + rank);
      const Nanoseconds offset_ns = program.clock_offset_ns == 0 ? 0 : below(rank, program.clock_offset_ns);
      const std::int64_t drift_ppm = program.drift_ppm == 0 ? 0 : below(rank, program.drift_ppm);
      if (rank >= first && rank < last)
        states_[rank].trace = std::make_unique<JobTrace>(program, rank, JobClock{offset_ns, drift_ppm});
    }
  }

  JobRun run() {
    for (std::uint32_t step = 0; step < program_.steps; ++step) play_step(step);
    for (RankState& state : states_) {
      run_.end_ns = std::max(run_.end_ns, state.compute_ns);
      if (state.trace) run_.traces.push_back(state.trace->finish(std::max(state.host_ns, state.compute_ns)));
    }
    return std::move(run_);
  }

 private:
  Nanoseconds below(std::uint32_t rank, Nanoseconds limit) {
    return static_cast<Nanoseconds>(random_[rank]() % static_cast<std::uint64_t>(limit));
  }
  Nanoseconds jittered(std::uint32_t rank, Nanoseconds ns) {
    if (program_.jitter_percent == 0) return ns;
    const Nanoseconds spread_ns = std::max<Nanoseconds>(1, ns * program_.jitter_percent / 100);
    return ns - spread_ns / 2 + below(rank, spread_ns);
  }

  void kernel(std::uint32_t rank, Nanoseconds ns, std::uint32_t line) {
    RankState& state = states_[rank];
    if (program_.slow_gpu && rank == 0) ns += ns / 5;
    const Nanoseconds launched_ns = state.host_ns;
    state.host_ns += kLaunchNs;
    const Nanoseconds start_ns = std::max(launched_ns + kLatencyNs, state.compute_ns + kPauseNs);
    state.compute_ns = start_ns + ns;
    state.work.push_back({start_ns, state.compute_ns});
    if (state.trace) state.trace->kernel(launched_ns, kLaunchNs, {start_ns, state.compute_ns}, line);
  }

  void fault(std::uint32_t rank, const Fault& fault) {
    RankState& state = states_[rank];
    const Nanoseconds begin_ns = state.host_ns;
    switch (fault.what) {
      case Fault::What::kSlowKernel: return kernel(rank, program_.kernel_ns + fault.ns, line_of(fault.what));
      case Fault::What::kRead: {
        state.host_ns = std::max(state.host_ns + 2'000, state.compute_ns + kReturnNs);
        if (state.trace) state.trace->sync({begin_ns, state.host_ns}, line_of(fault.what));
        const Nanoseconds read_ns = state.host_ns;
        state.host_ns += fault.ns;
        if (state.trace) state.trace->compute({read_ns, state.host_ns}, line_of(fault.what) + 1);
        return;
      }
      default: break;
    }
    state.host_ns += fault.ns;
    const TimeSpan span{begin_ns, state.host_ns};
    if (!state.trace) return;
    const std::uint32_t line = line_of(fault.what);
    switch (fault.what) {
      case Fault::What::kLoader: return state.trace->sleep(span, line, format::HostCall::kSemaphore);
      case Fault::What::kPause: return state.trace->sleep(span, line, format::HostCall::kSleep);
      case Fault::What::kReadFile: return state.trace->sleep(span, line, format::HostCall::kRead);
      case Fault::What::kLock: return state.trace->sleep(span, line, format::HostCall::kMutex);
      case Fault::What::kAllocate: return state.trace->allocate(span, line);
      case Fault::What::kStarved: return state.trace->compute(span, line, format::Sample::State::kRunnable);
      default: return state.trace->compute(span, line);
    }
  }

  bool is_at(const Fault& one, std::uint32_t rank, std::uint32_t step, std::uint32_t bucket) const {
    const std::uint32_t at = one.in_turn ? (one.rank + step) % program_.ranks : one.rank;
    return one.bucket == bucket && at == rank;
  }

  Nanoseconds transfer_ns(std::uint64_t bytes) const {
    const Nanoseconds empty_ns = std::min(kEmptyTransferNs, program_.transfer_ns);
    return empty_ns + static_cast<Nanoseconds>(static_cast<double>(program_.transfer_ns - empty_ns) *
                                               static_cast<double>(bytes) / static_cast<double>(kBucketBytes));
  }

  std::vector<std::uint32_t> all_ranks() const {
    std::vector<std::uint32_t> all(program_.ranks);
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }

  // The compute stream of all ranks waits for the last collective, then runs a kernel.
  void need_exchange(std::uint32_t line) {
    for (std::uint32_t rank = 0; rank < program_.ranks; ++rank) {
      RankState& state = states_[rank];
      state.compute_ns = std::max(state.compute_ns, state.exchange_ns + kEventNs - kPauseNs);
      kernel(rank, jittered(rank, program_.kernel_ns), line);
    }
  }

  void play_small(std::uint32_t step) {
    for (std::uint32_t i = 0; i < program_.small_exchanges; ++i) {
      meet(kAllRanks, step, all_ranks(), program_.small_bytes);
      if (program_.needs_each) need_exchange(42);
    }
  }

  // What all ranks do on the host right before they ask for an exchange.
  void stand_still() {
    if (program_.before_last_ns == 0) return;
    for (std::uint32_t rank = 0; rank < program_.ranks; ++rank) {
      RankState& state = states_[rank];
      Nanoseconds begin_ns = state.host_ns;
      if (program_.reads_before_last) {
        state.host_ns = std::max(state.host_ns + 2'000, state.compute_ns + kReturnNs);
        if (state.trace) state.trace->sync({begin_ns, state.host_ns}, kReadLine);
      } else {  // nobody sees it while the GPU has work
        state.host_ns = std::max(state.host_ns, state.compute_ns);
        if (state.trace) state.trace->compute({begin_ns, state.host_ns}, kHostLine);
      }
      begin_ns = state.host_ns;
      state.host_ns += program_.before_last_ns;
      if (state.trace) state.trace->compute({begin_ns, state.host_ns}, kHostLine);
    }
  }

  // All of `ranks` meet: none leaves before the last has come.
  void meet(std::uint64_t communicator, std::uint32_t step, std::vector<std::uint32_t> ranks,
            std::uint64_t bytes = kBucketBytes) {
    TrueMeeting meeting{
        communicator, ++turns_[communicator == kAllRanks ? 0 : 1 + ranks.front()], step, std::move(ranks), {}, 0};
    Nanoseconds last_ns = 0;
    for (const std::uint32_t rank : meeting.ranks) {
      RankState& state = states_[rank];
      const Nanoseconds start_ns =
          std::max({state.host_ns + kLatencyNs, state.exchange_ns + kPauseNs, state.compute_ns + kEventNs});
      meeting.arrivals.push_back(start_ns);
      last_ns = std::max(last_ns, start_ns);
    }
    meeting.transfer_ns = transfer_ns(bytes);
    for (std::size_t i = 0; i < meeting.ranks.size(); ++i) {
      const std::uint32_t rank = meeting.ranks[i];
      RankState& state = states_[rank];
      const Nanoseconds skew_ns = program_.end_skew_ns == 0 ? 0 : below(rank, program_.end_skew_ns);
      state.exchange_ns = last_ns + meeting.transfer_ns + skew_ns;
      if (state.trace)
        state.trace->collective(state.host_ns, kLaunchNs, {meeting.arrivals[i], state.exchange_ns}, communicator,
                                meeting.turn, bytes);
      state.host_ns += kLaunchNs;
      waits_.push_back({rank, {meeting.arrivals[i], last_ns}});
    }
    run_.meetings.push_back(std::move(meeting));
  }

  void play_buckets(std::uint32_t step) {
    for (std::uint32_t bucket = 0; bucket < program_.buckets; ++bucket) {
      for (std::uint32_t rank = 0; rank < program_.ranks; ++rank) {
        for (const Fault& one : program_.faults) {
          if (is_at(one, rank, step, bucket)) fault(rank, one);
        }
        for (std::uint32_t i = 0; i < program_.kernels; ++i)
          kernel(rank, jittered(rank, program_.kernel_ns), 30 + bucket);
      }
      if (program_.tensor_ranks > 1) {
        for (std::uint32_t first = 0; first < program_.ranks; first += program_.tensor_ranks) {
          std::vector<std::uint32_t> ranks;
          for (std::uint32_t i = first; i < std::min(first + program_.tensor_ranks, program_.ranks); ++i)
            ranks.push_back(i);
          if (ranks.size() > 1) meet(0x7e00 + first, step, std::move(ranks));
        }
        for (std::uint32_t rank = 0; rank < program_.ranks; ++rank) {  // its result is needed at once
          states_[rank].compute_ns =
              std::max(states_[rank].compute_ns, states_[rank].exchange_ns + kEventNs - kPauseNs);
          kernel(rank, jittered(rank, program_.kernel_ns), 40);
        }
      }
      if (bucket + 1 == program_.buckets) stand_still();
      meet(kAllRanks, step, all_ranks(), program_.one_size ? program_.small_bytes : kBucketBytes);
    }
  }

  void play_step(std::uint32_t step) {
    for (RankState& state : states_) {
      if (state.trace) state.trace->step(state.host_ns);
    }
    for (std::uint32_t pass = 0; pass < program_.passes; ++pass) {
      play_buckets(step);
      if (pass + 1 < program_.passes) need_exchange(48);
    }
    play_small(step);
    need_exchange(50);
    for (std::uint32_t rank = 0; rank < program_.ranks; ++rank) {
      RankState& state = states_[rank];
      if (!program_.reads_loss) continue;
      const Nanoseconds begin_ns = state.host_ns;
      state.host_ns = std::max(state.host_ns + 2'000, state.compute_ns + kReturnNs);
      if (state.trace) state.trace->sync({begin_ns, state.host_ns}, 60);
    }
    count_waits();
  }

  // What of a wait nothing of the rank's own work covered.
  void count_waits() {
    for (const auto& [rank, wait] : waits_) {
      Nanoseconds alone_ns = wait.length_ns();
      for (const TimeSpan work : states_[rank].work) alone_ns -= intersect(work, wait).length_ns();
      run_.waited_alone_ns[rank] += alone_ns;
    }
    waits_.clear();
    for (RankState& state : states_) state.work.clear();
  }

  const JobProgram& program_;
  std::vector<RankState> states_;
  std::vector<std::uint64_t> turns_;
  std::vector<std::mt19937_64> random_;
  std::vector<std::pair<std::uint32_t, TimeSpan>> waits_;
  JobRun run_;
};

}  // namespace

std::uint32_t TrueMeeting::last() const {
  return ranks[static_cast<std::size_t>(std::max_element(arrivals.begin(), arrivals.end()) - arrivals.begin())];
}

Nanoseconds TrueMeeting::margin_ns() const {
  std::vector<Nanoseconds> sorted = arrivals;
  std::sort(sorted.begin(), sorted.end());
  return sorted.size() < 2 ? 0 : sorted[sorted.size() - 1] - sorted[sorted.size() - 2];
}

Nanoseconds TrueMeeting::wait_of(std::size_t i) const {
  return *std::max_element(arrivals.begin(), arrivals.end()) - arrivals[i];
}

std::uint32_t line_of(Fault::What what) { return 80 + 2 * static_cast<std::uint32_t>(what); }

JobRun play_job(const JobProgram& program, std::uint64_t seed, std::uint32_t first, std::uint32_t last) {
  return JobPlayer(program, seed, first, last).run();
}

}  // namespace synctrace::testing::generator
