// SPDX-License-Identifier: Apache-2.0
// What waited at each of the user's lines, as a gate needs it: apart by stack, by what the program says of that part of
// itself, and by step, so that whoever judges can choose among these. Plain data, owns its texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "code/user_frame.h"
#include "findings/calls/surroundings.h"
#include "findings/report/rules.h"
#include "findings/report/source_line.h"
#include "findings/report/wait_figures.h"

namespace synctrace {

struct Attribution;
struct Trace;

inline constexpr std::uint32_t kOutsideSteps = 0xffff'ffff;

struct StepWaits {
  std::uint32_t step = kOutsideSteps;  // index in WaitSites::steps
  std::uint64_t synchronising = 0;     // calls that are waits by what they are, or waited
  WaitFigures figures;
};

// Calls of one site from the same stack and in the same surroundings.
struct WaitGroup {
  std::uint32_t around = 0;                   // index in WaitSites::surroundings
  std::uint32_t stack = 0;                    // index in WaitSites::stacks
  std::string function;                       // the first call's: "cudaStreamSynchronize + copy"
  std::vector<std::string_view> other_rules;  // ids and names of the rules that its parts would have alone
  std::vector<StepWaits> steps;               // in order of time
  SourceLine caller;                          // the line that calls the helper in which it waits; not known: no helper

  WaitFigures figures() const noexcept;  // all steps together
  std::uint64_t synchronising() const noexcept;
};

// A call site whose calls stand apart, not added up as in a CallSite.
struct GroupedCallSite {
  const Rule* rule = nullptr;  // never null
  SourceLine where;            // the wait's own line, which it is known by
  std::vector<WaitGroup> groups;
};

struct LostEvents {
  std::string name;
  std::uint64_t count = 0;
  std::string sentence;
  bool is_end = false;  // the end of the trace is missing: of no matter while the program still runs
};

struct DeviceIdle {
  std::uint32_t device = 0;
  Nanoseconds idle_ns = 0;
  Nanoseconds of_ns = 0;
};

struct WaitSites {
  std::string trace;
  std::string program;
  std::string folder;  // the working folder
  std::string level;
  bool simulated = false;
  bool has_timeline = false;
  std::uint64_t judged_by_length = 0;
  std::uint64_t events = 0;  // calls, launches and queries in the whole trace
  std::string step_source = "none";
  std::string step_name;
  std::string doubted_steps;    // why those that were found are guessed; then they count only where guesses do
  std::vector<TimeSpan> steps;  // on the host, from begin to begin
  std::vector<Nanoseconds>
      step_lengths;  // beside them, as the report has them: of steps found, from end of work to end of work
  std::vector<GroupedCallSite> sites;  // without what the program says is not to be judged
  std::vector<Surrounding> surroundings;
  std::vector<std::vector<ResolvedFrame>> stacks;  // the stacks of WaitGroup, innermost first
  std::vector<std::uint64_t> pageable_bytes;  // copied from or to pageable memory, by step; the last is outside of them
  std::vector<Zone> zones;
  std::vector<std::string> unknown_annotations;
  std::vector<LostEvents> lost;
  std::string blind;             // why this trace cannot show what waited; empty: it can
  std::vector<DeviceIdle> idle;  // in the steps, or in the recording; none without a timeline
};

struct WaitSitesOptions {
  std::vector<std::string> ranges;  // patterns of NVTX ranges that somebody asks for (surroundings.h)
  bool marked_steps = true;         // steps that the program marks in the domain synctrace come before all others
  bool guessed_steps = false;       // steps that were found, but not for sure, count: fit for a comparison alone
};

WaitSites find_wait_sites(const Trace& trace, const Attribution& attribution, const UserCode& user_code,
                          const WaitSitesOptions& options);

}  // namespace synctrace
