// SPDX-License-Identifier: Apache-2.0
// Two runs side by side: which lines that wait appeared, went, moved, got dearer or cheaper, and what became of steps
// and idle time. Lines are paired as a baseline pairs them, so edits and renamed files are no difference.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gate/compare_jobs.h"
#include "gate/gate.h"

namespace synctrace {

enum class Change : std::uint8_t { kAppeared, kDearer, kWent, kCheaper, kMoved, kSame };
std::string_view change_word(Change change) noexcept;  // "appeared"

struct ComparedLine {
  Change change = Change::kSame;
  std::optional<Finding> before;
  std::optional<Finding> after;
};

// How one figure is spread over all steps that count, or over the traces of one side.
struct Spread {
  std::size_t count = 0;
  double low = 0;  // first quartile
  double middle = 0;
  double high = 0;  // third quartile
};
Spread spread_of(std::vector<double> values);

struct ComparedRuns {
  std::vector<ComparedLine> lines;  // worst first; without kSame
  std::size_t same = 0;
  bool by_steps = false;          // both sides have steps; else lines are compared by their calls and waits in all
  std::string step_sources[2];    // before and after: "nvtx"; empty: no steps
  std::string step_names[2];      // the name of the range, or of the function that loops
  std::string step_doubts[2];     // why they are guessed; empty: they are sure
  Spread step_ns[2];              // before and after
  Spread idle_share[2];           // over devices and traces; none without a timeline
  std::size_t ranks[2] = {1, 1};  // ranks of a job that have a trace
  std::optional<ComparedJobs> jobs;
  bool simulated = false;
  std::string programs[2];  // "train.py"; empty: not known

  // Neither the programs nor any of their lines are the same.
  bool is_of_two_programs() const noexcept;

  // A line appeared, or is called more often in a step (without steps: in all).
  bool is_worse() const noexcept;
};

struct RunSide {
  GateResult result;
  std::vector<double> step_ns;
  std::vector<double> idle_shares;
  std::optional<JobReport> job;  // that the traces are, where it is known
};

ComparedRuns compare_runs(const RunSide& before, const RunSide& after);

std::string render_compared_text(const ComparedRuns& runs);
std::string render_compared_json(const ComparedRuns& runs);

}  // namespace synctrace
