// SPDX-License-Identifier: Apache-2.0
// Runs both sides in turns until it is decided which is faster, or until the time is over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trial/prediction.h"
#include "trial/trial_result.h"
#include "try/checkouts.h"
#include "try/timed_runs.h"
#include "try/try_options.h"

namespace synctrace::cli {

class Trial {
 public:
  // All must outlive it. `checkouts` is null where both commands run here; `gpus`: two, for both sides at once.
  Trial(const TryOptions& options, TimedRuns& runs, Checkouts* checkouts, std::vector<std::string> gpus,
        const std::optional<PredictedSaving>& saving);

  TimedTrial run();

  // What the run that failed, or that differs, printed last.
  const std::vector<std::string>& last_lines() const noexcept { return last_lines_; }

 private:
  struct Run {
    ProgramEnd end;
    ProgramOutput output;
    double figure = 0.0;
  };
  // Side by its number, on one of the GPUs.
  struct Turn {
    std::size_t side;
    std::size_t gpu;
  };

  std::vector<Run> run_turns(const std::vector<Turn>& turns);
  bool take_figure(const Turn& turn, Run& run);
  bool warm_up();
  bool run_pair();
  bool compare_first(const std::vector<Run>& runs);
  bool is_decided();
  bool is_time_for_a_pair() const;
  void end_with(TrialEnd end, std::string failure = {});
  void say_progress() const;

  const TryOptions& options_;
  TimedRuns& runs_;
  Checkouts* checkouts_;
  std::vector<std::string> gpus_;
  const std::optional<PredictedSaving>& saving_;
  std::int64_t begin_ns_;
  bool is_over_ = false;
  std::int64_t pair_ns_ = 0;  // what the last one took
  TimedTrial result_;
  std::vector<std::string> last_lines_;
};

}  // namespace synctrace::cli
