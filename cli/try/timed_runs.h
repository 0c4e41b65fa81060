// SPDX-License-Identifier: Apache-2.0
// Runs programs, alone or side by side, and takes their time. Each is in a process group of its own with no input. What
// it leaves behind is ended, and what the user sends to us ends it.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace synctrace::cli {

struct ProgramCall {
  std::vector<std::string> words;
  std::string folder;                                                    // empty: ours
  std::vector<std::string> environment;                                  // "NAME=value"
  std::function<void(std::size_t stream, std::string_view bytes)> take;  // what it prints: 0 stdout, 1 stderr
};

struct ProgramEnd {
  int start_error = 0;          // errno; then nothing else counts
  int exit_status = 0;          // when signal is 0
  int signal = 0;               // that ended it
  bool was_stopped = false;     // by us: the deadline came, or the user ended us
  std::size_t left_behind = 0;  // processes that it left, and that were ended
  std::int64_t wall_ns = 0;

  bool is_good() const noexcept { return start_error == 0 && signal == 0 && exit_status == 0 && !was_stopped; }
};

// One at a time, on the main thread, from before the first other process that we start.
class TimedRuns {
 public:
  TimedRuns();
  ~TimedRuns();
  TimedRuns(const TimedRuns&) = delete;
  TimedRuns& operator=(const TimedRuns&) = delete;

  // `deadline_ns` by CLOCK_MONOTONIC; 0: none.
  std::vector<ProgramEnd> run(std::span<const ProgramCall> calls, std::int64_t deadline_ns);

  // The signal by which the user ended us; 0: none so far. From then on programs end as soon as they begin.
  int ended_by() const noexcept { return ended_by_; }
  // For what has to be cleaned up after that.
  void go_on_anyway() noexcept { goes_on_ = true; }

 private:
  bool must_end() const noexcept { return ended_by_ != 0 && !goes_on_; }
  void take_signals();

  sigset_t watched_{};
  sigset_t mask_before_{};
  struct sigaction child_before_ {};
  int signals_ = -1;
  int ended_by_ = 0;
  bool goes_on_ = false;
};

}  // namespace synctrace::cli
