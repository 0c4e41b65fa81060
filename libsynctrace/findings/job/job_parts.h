// SPDX-License-Identifier: Apache-2.0
// What ranks did, by names that mean the same on all of them: a cause at a line, or a kernel.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "code/user_frame.h"
#include "findings/report/report.h"
#include "ranks/blame.h"
#include "ranks/stretch_parts.h"

namespace synctrace {

struct JobPart {
  std::string name;            // the cause's, or a kernel's own
  const Rule* rule = nullptr;  // null: none, or a kernel
  SourceLine where;
  bool is_kernel = false;
  FixKey fix_key;  // in the trace of the rank that was first seen to do it
  // Time of the host that is a wait's doing, which had emptied the GPU's queue: the wait, and what the host did, each
  // with a name of its own.
  bool is_drained = false;
  std::uint32_t wait = 0;
  std::uint32_t activity = 0;
};

// The time of a rank's kernels of one name by the line that launched them, as far as it is known.
using KernelLines =
    std::map<std::uint32_t, std::map<std::tuple<std::string, std::uint32_t>, std::pair<Nanoseconds, SourceLine>>>;

// Kernels that are told as one: "slow-gpu" or "more-work".
struct KernelsAsOne {
  std::string_view name = "slow-gpu";
  std::vector<bool> rows;  // by name; those beyond the end are not
};

class JobParts {
 public:
  struct OfRank {
    std::vector<StretchPart> parts;
    KernelLines kernel_lines;
  };
  // `report` is this rank's; `attribution` has kept its parts.
  OfRank of_rank(const Trace& trace, const Attribution& attribution, const RankSummary& rank, const Report& report,
                 const UserCode& user_code);

  // The part's name, a new one where it was not seen before.
  std::uint32_t number_of(JobPart part);

  // By name, for find_blame.
  PartSorts sorts() const;

  const JobPart& operator[](std::uint32_t name) const { return parts_[name]; }

  // What the host did behind a wait is the wait's doing where only the late rank waits there. Where others wait too, it
  // is what the host did then. Kernels of `as_one` are one row of the name that is returned, and so is all host code of
  // a line. Renames the parts of all ranks.
  std::uint32_t settle(const std::vector<StretchPart>& usual, const KernelsAsOne& as_one,
                       const std::vector<std::vector<StretchPart>*>& parts);

  std::size_t size() const noexcept { return parts_.size(); }

 private:
  void one_row_per_line(const std::vector<std::vector<StretchPart>*>& parts, std::vector<std::uint32_t>& names) const;

  std::vector<JobPart> parts_;
  std::map<std::tuple<std::string, std::string, std::uint32_t, std::string>, std::uint32_t> numbers_;
};

}  // namespace synctrace
