// SPDX-License-Identifier: Apache-2.0
// The gate's result for some traces: which of the user's lines wait for the GPU although nothing allows it. Conclusions
// as data; the renderers of this room word them for people, code hosts and scripts.
//
// What a line did decides, not the name of the function it called. Counts are of calls, which a program makes alike in
// every run; whether a place waits at all is what the run showed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gate/allow_book.h"
#include "gate/baseline.h"
#include "gate/gate_config.h"
#include "gate/job_ranks.h"
#include "gate/observe.h"

namespace synctrace {

inline constexpr int kGateSchemaVersion = 1;

enum class GateStatus : std::uint8_t { kPass, kFail, kNothing };

enum class FindingStatus : std::uint8_t {
  kNew,
  kAllowed,   // by an entry, a comment or a range
  kBaseline,  // known
  kHarmless,  // it never waited
};
std::string_view status_word(FindingStatus status) noexcept;  // "new"

// Where calls are counted.
enum class CountedIn : std::uint8_t {
  kStep,
  kOutside,    // all calls outside of steps, where there are steps: only zones are judged there
  kRecording,  // all of it, because it has no steps
};

// One trace's share of a finding.
struct FindingShare {
  std::size_t trace = 0;
  std::uint64_t per_step = 0;
  bool is_new = false;  // unexpected there
};

struct Finding {
  FindingStatus status = FindingStatus::kNew;
  GateLevel level = GateLevel::kError;
  std::string rule_id;
  std::string rule_name;
  SourceLine where;
  std::string path;                 // in the repository; empty: not known
  std::vector<SourceLine> callers;  // lines that call the helper in which the wait is; files as in the repository
  std::string function;             // CUDA's
  std::string message;              // a sentence without its full stop
  std::string reason;               // why it is allowed, or what is wrong with the entry that would allow it
  bool strict = false;              // in a zone that expects no synchronisation
  std::string zone;                 // its name, if it has one
  bool fails = false;               // the gate, as it is configured
  WaitFigures figures;
  std::uint64_t per_step = 0;  // most calls in one step of one trace, or in what `counted_in` says
  CountedIn counted_in = CountedIn::kStep;
  std::uint64_t steps = 0;           // with such a call
  std::vector<FindingShare> shares;  // by trace
  std::vector<std::int64_t> ranks;   // ranks on which it did what `status` says: sorted; empty: no job
  Fingerprint fingerprint;
};

// A message about a limit, or about an entry of the allow list.
struct Complaint {
  std::string id;  // "max-gpu-idle-pct", "unused-allow"...
  GateLevel level = GateLevel::kError;
  std::string path;  // the configuration's; empty: none
  std::uint32_t line = 0;
  std::string message;
  bool fails = false;
};

struct JudgedTrace {
  std::string path;
  std::int64_t rank = kNoJobRank;  // its number in GateResult::job
  std::string program;
  std::string level;
  std::string step_source;
  std::string step_name;
  std::string step_doubt;  // why the steps are guessed; empty: they are sure
  std::size_t steps = 0;
  std::size_t judged_steps = 0;
  std::uint64_t judged_calls = 0;
  bool simulated = false;
  bool has_timeline = false;
};

struct GateResult {
  GateStatus status = GateStatus::kPass;
  std::vector<Finding> findings;  // gravest first, then by path and line
  std::vector<Complaint> complaints;
  std::vector<std::string> nothing;  // why nothing was judged; a failure counts all the same
  std::vector<std::string> remarks;
  std::vector<JudgedTrace> traces;
  std::optional<GateJob> job;  // whose ranks the traces are
  std::vector<Zone> zones;
  std::vector<BaselineEntry> gone;  // in the baseline, but not found any more

  std::size_t count(FindingStatus wanted) const noexcept;
  std::size_t count_new(GateLevel level) const noexcept;
};

// `baseline` may be null.
GateResult judge(std::span<const Observation> observations, const GateConfig& config, const AllowBook& book,
                 const Baseline* baseline, const Repository& repository);

}  // namespace synctrace
