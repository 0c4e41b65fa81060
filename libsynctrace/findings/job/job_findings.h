// SPDX-License-Identifier: Apache-2.0
// All that is said of a job of several ranks. No trace has to stay in memory: each is summarised, then those of the
// ranks that matter are opened once more and examined for their lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "findings/findings.h"
#include "findings/history/job_exchanges.h"
#include "findings/report/job_report.h"
#include "model/rank_lane.h"

namespace synctrace {

class JobFindings {
 public:
  JobFindings();
  ~JobFindings();

  // Summarizes the file with this number, whose findings have kept the timeline. May be called from several threads at
  // once, like leave_out().
  void summarize(std::size_t file, const Findings& findings);

  // Notes a trace that has no collectives and no communicators, without explaining it.
  void leave_out(std::size_t file, const Trace& trace);

  // After all files: false where they are not one job, and then nothing else may be asked.
  bool join();

  // The numbers of the files to examine, for the lines that made ranks late. In this order: names are numbered in it.
  std::vector<std::size_t> to_examine() const;

  // The findings have kept the timeline; `report` is theirs, without calls outside the recorded windows.
  void examine(std::size_t file, const Findings& findings, const Report& report);

  JobReport report(bool with_sets = false) const;

  // The number of the file of each rank, by its row in the report.
  const std::vector<std::size_t>& files() const noexcept;

  // The ranks that a page shows if it has room for so many.
  std::vector<std::uint32_t> to_draw(std::size_t most) const;

  // What timelines show of a rank, by its row in the report.
  RankLane lane(std::uint32_t rank) const;

  // What a rank exchanged with the others.
  std::vector<ExchangeRow> exchanges(std::uint32_t rank) const;

  // Whether the trace says that its process talked to others, or could have.
  static bool has_collectives(const Trace& trace);
  static bool has_communicators(const Trace& trace) { return !trace.communicators.empty(); }

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace synctrace
