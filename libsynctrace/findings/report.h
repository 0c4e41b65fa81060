// SPDX-License-Identifier: Apache-2.0
// The conclusions about one process as data: what every renderer shows and what a gate judges. Times are ns. It owns
// all its texts, so it outlives the trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attribution/cause.h"
#include "attribution/collective_time.h"
#include "attribution/device_state.h"
#include "base/time_span.h"
#include "findings/job/rank_in_job.h"
#include "findings/loader/loader_advice.h"
#include "findings/rules.h"
#include "findings/wait_figures.h"
#include "model/frames.h"
#include "model/load_stats.h"
#include "steps/steps.h"
#include "whatif/fix.h"

namespace synctrace {

inline constexpr int kReportSchemaVersion = 2;

// What the calls of a site did, as a whole.
enum class SiteVerdict : std::uint8_t {
  kWaits,      // every call waited for the GPU
  kSometimes,  // some did
  kRedundant,  // explicit waits, never anything to wait for
  kOwnCopy,    // waited at most for its own transfer
  kNoWait,
  kUnclear,
};

// One frame of a stack that a report shows.
struct ShownFrame {
  ResolvedFrame frame;
  std::string source;   // text of its line; empty: not known
  bool hidden = false;  // the interpreter's own machinery, of no use to most readers
};

// The user's own line that made a call.
struct SourceLine {
  std::string file;  // empty: not known
  std::uint32_t line = 0;
  std::string function;  // empty: nothing is known of the place
  std::string source;
  std::vector<ShownFrame> stack;  // the frames of one such call, innermost first

  bool known() const noexcept { return !function.empty() || !file.empty(); }
};

// Calls of one CUDA function with one kind of copy.
struct SiteCalls {
  const Rule* rule = nullptr;  // null: no rule
  std::string function;        // CUDA's, or the C library's where the program slept outside of CUDA
  std::string direction;       // a copy's: "H2D", "D2H"...; else empty
  std::string memory;          // on the host's side of a copy: "pageable", "pinned"...; empty when there is none
  std::string note;            // "creates the context"; empty for most
  WaitFigures figures;
};

// What a user would fix in one place: the calls of a function from one line, or the copies from one line together with
// the synchronisation that stands behind each of them, as one statement of a framework makes them.
struct CallSite {
  SourceLine where;
  std::vector<SiteCalls> calls;  // one, or two; the first gives the site its rule
  WaitFigures figures;           // a copy and its synchronisation are one call
  bool can_wait = false;
  bool is_poll = false;
  SiteVerdict verdict = SiteVerdict::kNoWait;

  const Rule* rule() const noexcept { return calls.front().rule; }
  const std::string& function() const noexcept { return calls.front().function; }
};

struct HostThread {
  std::uint32_t id = 0;  // zero: not known
  std::string name;
  bool uses_cuda = false;
};

// A thread's blocking calls of one function of the C library from one line.
struct HostCallSite {
  SourceLine where;
  HostThread thread;
  std::string call;  // "semaphore", "condition variable"...
  std::uint64_t count = 0;
  std::uint64_t timed_out_count = 0;
  std::uint64_t interrupted_count = 0;
  std::uint64_t woken_count = 0;  // by a thread that is known
  HostThread waker;               // the one that did so most often
  Nanoseconds slept_ns = 0;
  Nanoseconds longest_ns = 0;
};

// A line at which samples found a thread.
struct SampledLine {
  SourceLine where;
  HostThread thread;
  std::string state;    // "running", "runnable", "blocked", "unknown"
  std::string channel;  // where in the kernel it sleeps; empty: not known
  std::uint64_t count = 0;
};

// What the host did while the time was a wait's doing.
struct IdleActivity {
  std::string name;
  SourceLine where;
  Nanoseconds idle_ns = 0;
};

// What fixing a place would save, of SavingsReport::base_ns. Savings do not add up.
struct SavingReport {
  Interval alone;
  Fix fix = Fix::kNone;  // kNone: no fix is legal; then only the ceiling is known
  Nanoseconds ceiling_ns = 0;
  std::string moves_to;  // "train.py:93": where the wait would be waited instead; empty: nowhere
};

// One cause of a device's idle time at one place.
struct IdleCause {
  const Rule* rule = nullptr;  // null: no rule
  std::string name;            // the rule's, or else the cause's
  CauseKind kind = CauseKind::kUnknown;
  std::string reason;  // why it is not known; empty for most
  std::string call;    // function of CUDA; empty: none
  SourceLine where;
  SourceLine until;         // known for host code of which only the calls around it are: then `where` is the one before
  std::uint64_t count = 0;  // number of calls there; where it is no call, of gaps
  std::uint64_t occurrences = 0;
  Nanoseconds host_blocked_ns = 0;
  Nanoseconds idle_ns = 0;
  Nanoseconds steady_ns = 0;              // the part in ordinary steps
  Nanoseconds irregular_ns = 0;           // the part in steps that took unusually long
  Nanoseconds uncertain_ns = 0;           // the part known with low confidence only
  Nanoseconds uncertain_in_steps_ns = 0;  // the part of that in ordinary steps
  std::vector<IdleActivity> activities;   // dearest first
  std::vector<std::uint32_t> numbers;     // Cause::number of the causes that it adds up
  FixKey fix_key;                         // what a fix would apply to: where another thread did it, that thread's place
  FixKey line_key;                        // the same of the line itself
  std::optional<SavingReport> saving;     // nothing: too little to look at, or no fix applies
};

// A fix at its line, as a report shows it.
struct ShownFix {
  SourceLine where;
  std::string call;  // where the line is not known: the function
  FixKey key;        // what it applies to
  SavingReport saving;
  std::uint32_t until_line = 0;  // a stretch of host code ends before this line of the same file; 0: it is one line
};

// One more fix, or several that pay only together.
struct FixRow {
  std::vector<ShownFix> fixes;
  Interval marginal;
  Interval cumulative;
};

// One change of the program: the lines that it sets right together, and what to write there.
struct Remedy {
  const Rule* rule = nullptr;  // whose page explains it; null: none
  Fix fix = Fix::kNone;
  std::string title;                 // "Read the loss one step later"
  std::vector<std::string> to_type;  // one or two lines
  std::vector<ShownFix> fixes;       // largest saving alone first, at most kMostShownFixes
  std::size_t more_fixes = 0;        // lines beside these
  Interval alone;
  Interval marginal;  // after the remedies before it
  Interval cumulative;
};

inline constexpr std::size_t kMostShownFixes = 24;

// One of the ways in which a part of a question could be answered.
struct AskedWay {
  std::size_t choice = 0;  // which part
  bool taken = false;
  std::vector<Fix> fixes;   // kNone: not legal, the gain is what it would be if it were
  Nanoseconds gain_ns = 0;  // with what was taken of the other parts
};

// The answer to WhatIfQuestion.
struct AskedReport {
  Interval saving;  // by all that was granted, together
  std::vector<ShownFix> fixes;
  std::vector<std::string> notes;  // what was taken where there was a choice, what was not granted, and why
  std::vector<AskedWay> ways;
};

struct SavingsReport : SavingsBase {
  std::vector<FixRow> order;
  std::vector<Remedy> remedies;   // best first; those that gain nothing stand last
  std::vector<ShownFix> in_vain;  // whose wait would mostly move, dearest first
  std::optional<AskedReport> asked;
};

// A step that took unusually long, or short.
struct IrregularStep {
  std::size_t index = 0;  // among all steps, from 0
  Nanoseconds begin_ns = 0;
  Nanoseconds length_ns = 0;
};

struct StepsReport {
  std::string source = "none";
  std::string name;
  FileLine where;  // the loop's line; 0: not known
  StepConfidence confidence = StepConfidence::kHigh;
  std::string doubt;  // a clause: why it is not high
  std::size_t micro_steps = 1;
  StepFigures figures;
  std::vector<IrregularStep> irregular;  // longest first, at most kMostIrregularSteps
  Nanoseconds ordinary_ns = 0;           // all others but the warm-up, added up: verdict and savings are about them
  Nanoseconds ordinary_mean_ns = 0;
  Nanoseconds irregular_ns = 0;
  Nanoseconds irregular_mean_ns = 0;
};
inline constexpr std::size_t kMostIrregularSteps = 20;

// What costs most of the idle time in a part of the run.
struct WorstCause {
  const Rule* rule = nullptr;  // null: no rule
  std::string name;
  SourceLine where;  // without its stack
  Nanoseconds idle_ns = 0;
};

// A part of the run; without a GPU timeline nothing is known of idle time.
struct RunPart {
  Nanoseconds time_ns = 0;
  Nanoseconds idle_ns = 0;  // on the verdict's GPU
  std::optional<WorstCause> worst;
};

// The steps of one loop: training, validation.
struct PhaseReport {
  std::size_t number = 1;  // by time, from 1: of --phase
  bool reported = false;   // whether all else in the report is about it
  std::string source;
  SourceLine where;  // the loop's line; its function has the name
  StepFigures figures;
  RunPart part;  // the steps without the warm-up
};

// A part of the time: "launching".
struct TimePart {
  std::string name;
  Nanoseconds ns = 0;
};

struct VerdictLine {
  std::string word;      // "sync-bound"; empty: there is none
  std::string evidence;  // or why there is none; empty: no GPU worked
  bool is_hint = false;  // too much of it is uncertain
  // What `evidence` says of the time: of the busiest device, in the ordinary steps where there are any.
  std::uint32_t device = 0;
  Nanoseconds lacked_ns = 0;      // without work to compute: idle, or only copying
  Nanoseconds copying_ns = 0;     // its part with transfers
  Nanoseconds collective_ns = 0;  // beside it: only collectives ran
  // All of the time: "busy" first, then why the GPU lacked work; no part is 0.
  std::vector<TimePart> parts;
  Nanoseconds of_ns = 0;
};

struct DeviceReport {
  std::uint32_t id = 0;
  std::string name;
  DeviceState state;
  CollectiveTime collectives;          // compute time in which only collectives ran, to move data or to wait for others
  std::uint64_t pieces = 0;            // number of pieces of GPU work
  std::vector<IdleCause> causes;       // sum to the idle time exactly; dearest in the steps first
  std::vector<IdleCause> copy_causes;  // why the GPU only copied
};

// GPU work of one sort: "kernels", "graphs", "memsets", or a copy by direction and memory.
struct WorkReport {
  std::string what;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  Nanoseconds device_ns = 0;  // all pieces added up, which may overlap
};

// All calls of one CUDA function. The quantiles are right to 2 %.
struct ApiReport {
  std::string function;
  WaitFigures figures;
  Nanoseconds p50_ns = 0;
  Nanoseconds p99_ns = 0;
};

// NVTX ranges of one name. Ranges of many names that differ in their digits alone are one row, with '#' for these.
struct RangeReport {
  std::string name;
  std::string domain;  // empty: NVTX's default
  std::uint64_t count = 0;
  Nanoseconds host_ns = 0;          // lengths, added up
  Nanoseconds host_blocked_ns = 0;  // their threads, inside them
  Nanoseconds issued_ns = 0;        // GPU work that their threads issued inside them
  Nanoseconds busy_ns = 0;          // devices were busy while one of them was open and the timeline was recorded
  Nanoseconds idle_ns = 0;          // likewise: in no work at all
};

struct LossReport {
  std::string name;
  std::uint64_t count = 0;
  Severity severity = Severity::kWarning;
  std::string sentence;
};

struct Report {
  std::string path;
  std::string program;
  std::string executable;
  std::string folder;  // the working folder
  std::string host;
  std::string rank;
  std::string nccl;  // its version, where the process asked it for an operation
  std::string level;
  std::uint32_t process_id = 0;
  bool simulated = false;

  Nanoseconds recorded_ns = 0;  // first to last time in the trace
  std::vector<TimeSpan> windows;
  std::vector<std::string> window_reasons;
  bool has_timeline = false;
  std::string no_lines;    // why rows have no line of the program; empty: where they have none, the trace says no more
  bool covers_all = true;  // false: only calls that began in a window
  bool only_windows = false;  // waits outside of the windows were not recorded
  std::uint64_t left_out_calls = 0;
  Nanoseconds lossy_ns = 0;  // recorded time that may lack records

  VerdictLine verdict;
  std::optional<RankInJob> in_job;  // nothing: it was looked at alone
  StepsReport steps;
  std::vector<PhaseReport> phases;       // that of `steps` first, then by number; none without steps
  std::optional<RunPart> between_steps;  // outside of all phases; nothing: a small part of the recording
  std::vector<DeviceReport> devices;
  SavingsReport savings;
  std::optional<LoaderAdvice> loader;    // where the program waits for a data loader
  std::vector<CallSite> waits;           // all sites that can wait, and sleeps until GPU work ended, dearest first
  std::vector<CallSite> long_calls;      // the others that took a millisecond or more in sum, dearest first
  std::vector<CallSite> polls;           // queries, those that waited longest first
  std::vector<HostCallSite> host_waits;  // longest in sum first
  std::vector<SampledLine> samples;      // most first
  std::vector<WorkReport> work;
  std::vector<WorkReport> top_kernels;
  std::vector<WorkReport> kernel_families;  // by name without templates and parameters, dearest first
  std::vector<ApiReport> apis;              // most time first
  std::vector<RangeReport> ranges;          // most idle time of the devices first
  std::vector<CallSite> pageable_copies;    // by line and direction, most time of the host first
  std::vector<CallSite> step_allocations;   // take or give back memory in steps that are no warm-up; likewise
  std::uint64_t launch_count = 0;
  Nanoseconds launch_host_ns = 0;
  Nanoseconds overhead_ns = 0;
  std::uint64_t overhead_count = 0;

  WaitFigures calls;  // all sites but `polls`; a copy and its synchronisation are two calls
  std::vector<LossReport> losses;
};

}  // namespace synctrace
