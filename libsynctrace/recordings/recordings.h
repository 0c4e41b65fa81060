// SPDX-License-Identifier: Apache-2.0
// The room's entry: the recordings that one command is about. None is opened more than twice, and few are in memory at
// once. The first pass, find_job(), is for those who want to know whether the recordings are ranks of one job. The
// second, visit(), is where all that needs a trace is made of it at once. What is said of a job is complete in the
// middle of that pass, when the ranks that made others late were examined: so what does not need the trace waits for
// finish().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "findings/job/job_findings.h"
#include "recordings/job_search.h"
#include "recordings/open_recording.h"

namespace synctrace {

// What is done with recordings of which each is opened once. Files are given by their numbers.
struct Visit {
  std::vector<std::size_t> files;     // each once
  std::optional<std::size_t> leader;  // one of them that is opened first: others go by what is made of it
  bool examines = true;               // only of a job: finds the lines that made ranks late, for job()
  bool keeps_timeline = false;        // Findings that `see` gets
  ReportQuestion question;

  // Sees each of the files while it is open, those first that tell about the job. False: no more, and nothing is
  // finished any more.
  std::function<bool(OpenRecording&)> see;
  // Gets the report of each file in their order, for a rank with the facts of its job; empty: none is made for it.
  std::function<void(std::size_t file, Report report)> finish;
};

class Recordings {
 public:
  Recordings(std::vector<std::string> files, Asking asking) : files_(std::move(files)), asking_(std::move(asking)) {}
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  const std::string& path(std::size_t file) const { return files_[file]; }
  std::vector<std::size_t> all() const;

  // Once, before the visit. Tells which files of a job cannot be read.
  Together find_job();

  // False where `see` said so.
  bool visit(const Visit& visit);

  // Files that could not be read so far. find_job() counts those of a job, which are not visited.
  std::size_t unreadable() const noexcept { return unreadable_; }

  // The earliest begin of some files by the wall clock, from their heads where they were not opened yet. A file that
  // cannot be read does not count.
  std::uint64_t earliest_start(const std::vector<std::size_t>& files);

  // All below is of a job. What is said of it lacks the lines until the ranks are examined.
  bool is_job() const noexcept { return found_.findings != nullptr; }
  const JobReport& job() const noexcept { return job_; }
  const JobFindings& job_findings() const noexcept { return *found_.findings; }
  std::size_t file_of(std::size_t rank) const { return found_.findings->files()[rank]; }
  std::optional<std::uint32_t> rank_of(std::size_t file) const;  // nothing where there is no job, too
  std::optional<std::uint32_t> rank_called(const std::string& label) const;
  // The files of all ranks in their order, then those that are of no rank, without those that cannot be read.
  std::vector<std::size_t> ranks_and_others() const;

 private:
  class Pass;

  std::vector<std::string> files_;
  Asking asking_;
  FoundJob found_;
  JobReport job_;
  std::size_t unreadable_ = 0;
};

}  // namespace synctrace
