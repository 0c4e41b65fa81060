// SPDX-License-Identifier: Apache-2.0
// What a script or an agent needs to act, of one process or of a job: the digest and the JSON of changes show the same
// parts. It points into the reports, which must outlive it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "findings/changes/leave_alone.h"
#include "findings/report/job_report.h"
#include "findings/report/report.h"

namespace synctrace {

inline constexpr std::string_view kCannotSay = "CANNOT SAY";

struct DigestPlace {
  const SourceLine* where = nullptr;
  std::string text;  // "src/train.py:88"; without a line the function
  std::optional<Nanoseconds> alone_ns;
};

struct DigestChange {
  std::size_t number = 1;  // the first screen's
  std::string id;
  const Rule* rule = nullptr;
  std::string title;
  std::vector<std::string> to_type;  // empty: nothing is known
  std::string_view must_hold;
  std::vector<DigestPlace> places;  // dearest first
  std::size_t more_places = 0;
  std::vector<std::string> ranks;  // that have to change, where it is a job
  std::optional<Interval> alone;   // nothing: not predicted
  std::optional<Nanoseconds> marginal_ns;
  std::optional<Nanoseconds> cumulative_ns;
  std::optional<Interval> cumulative;  // its range is known for a process alone
};

struct DigestLeft {
  LeftLine line;
  std::string text;
};

struct DigestWait {
  const CallSite* site = nullptr;
  std::string text;
};

struct ReportDigest {
  std::string trace;
  std::string program;  // its command line
  std::string device;
  bool simulated = false;
  std::size_t processes = 1;  // that were recorded
  std::size_t ranks = 0;      // 0: it is no job
  std::string verdict;        // empty: none
  std::string sentence;
  bool by_steps = false;
  std::size_t steps = 0;  // counted
  Nanoseconds base_ns = 0;
  Nanoseconds recorded_ns = 0;
  Nanoseconds lacked_ns = 0;  // the GPU lacked work
  Nanoseconds of_ns = 0;      // 0: not known of what
  bool is_predicted = false;  // what changes save
  std::vector<DigestChange> changes;
  std::vector<DigestLeft> leave_alone;
  std::vector<DigestWait> waits;  // where no saving is known: longest first
  std::vector<std::string> notes;
  std::vector<std::string> cannot_say;
  std::string next;  // a command, with CMD for the program's own

  Nanoseconds of_a_step(Nanoseconds ns) const noexcept {
    return by_steps && steps > 0 ? ns / static_cast<Nanoseconds>(steps) : ns;
  }
};

// `processes`: how many were recorded, of which this one is shown.
ReportDigest digest_of(const Report& report, std::size_t processes);
ReportDigest digest_of(const JobReport& job);

}  // namespace synctrace
