// SPDX-License-Identifier: Apache-2.0
// All that is said of a job of several ranks. No trace has to stay in memory: each is summarised, then those of the ranks
// that matter are loaded once more and looked at for their lines.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "findings/findings.h"
#include "findings/job/job_report.h"

namespace synctrace {

class JobFindings {
 public:
  JobFindings();
  ~JobFindings();

  // Of the file with this number. May be called from several threads at once.
  void summarize(std::size_t file, const Trace& trace, const FindingsOptions& options, std::optional<Joins> joins);

  // After all files: the numbers of those to look at again. None: they are not one job.
  std::vector<std::size_t> join();

  void look_at(std::size_t file, const Trace& trace, const FindingsOptions& options, std::optional<Joins> joins);

  JobReport report() const;

  // Whether the trace says that its process talked to others.
  static bool has_collectives(const Trace& trace);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace synctrace
