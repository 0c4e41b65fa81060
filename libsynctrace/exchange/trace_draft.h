// SPDX-License-Identifier: Apache-2.0
// What an importer has read of another tool's file, in that tool's own time, until it is a trace of ours. The importers
// know their formats; what makes a trace of it is here: one axis of time, calls inside calls, queries in runs, what a
// call's work says about the call, stacks out of ranges. Rows may come in any order. Memory is proportional to rows and
// names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exchange/draft_stacks.h"
#include "model/trace.h"

namespace synctrace {

class TraceDraft {
 public:
  // Times of rows may be anywhere within this of zero; readers check.
  static constexpr Nanoseconds kFarthestTime = Nanoseconds{1} << 61;

  StringId text(std::string_view text);
  // `callback_id` is CUPTI's where the file has it, else 0. The name may have CUPTI's version.
  ApiId api(format::ApiDomain domain, std::uint32_t callback_id, std::string_view name);

  // The call has its span, thread, api, correlation and status; the rest is found out.
  void add_call(const Call& call) { calls_.push_back(call); }
  void add_operation(const Operation& operation);
  void add_overhead(const Overhead& overhead) { trace_.overheads.push_back(overhead); }
  void add_host_wait(const HostWait& wait) { trace_.host_waits.push_back(wait); }
  // Pushed and popped, so inside the others of its thread, or on its own.
  void add_range(ThreadId thread, TimeSpan span, StringId text, NvtxDomainId domain, bool pushed);
  void add_mark(ThreadId thread, Nanoseconds time_ns, StringId text, NvtxDomainId domain);
  // The stream and the event that a call of this correlation is about; 0: none, or not known.
  void set_target(CorrelationId call, StreamKey stream, std::uint64_t event = 0) { targets_[call] = {stream, event}; }

  DraftStacks& stacks() noexcept { return stacks_; }
  // Names, facts, devices and what is known of the file as a whole; no rows.
  Trace& trace() noexcept { return trace_; }
  // Rows that the reader left out.
  void lose(std::string_view name, std::uint64_t count = 1) { trace_.stats.add(name, count); }

  struct Known {
    std::optional<Nanoseconds> realtime_ns;  // the clocks at the rows' time 0
    std::optional<Nanoseconds> monotonic_ns;
    bool has_stacks = false;   // each call has the one that its reader gave it
    bool has_answers = false;  // statuses of queries say what they answered
  };
  // Once; the draft is empty then.
  Trace finish(const Known& known);

  bool has_cuda() const noexcept { return !calls_.empty() || !trace_.operations.empty(); }

 private:
  struct Range {
    TimeSpan span;
    ThreadId thread{};
    NvtxDomainId domain{};
    StringId text{};
    bool pushed = true;
  };

  Nanoseconds find_shift(const Known& known) const;
  void move_in_time(Nanoseconds shift_ns);
  std::vector<Nanoseconds> issue_times() const;
  void find_places();
  void describe_calls();
  void drop_inner_calls();
  void sort_out_calls(bool has_answers);
  void add_query(const Call& call, bool has_answers);
  void find_stacks();
  void write_ranges();
  void set_clock(const Known& known, Nanoseconds shift_ns);

  Trace trace_;
  DraftStacks stacks_;
  std::vector<Call> calls_;
  std::vector<Range> ranges_;
  std::unordered_map<std::string, StringId> texts_;
  std::map<std::pair<format::ApiDomain, std::string>, ApiId, std::less<>> apis_;
  struct Target {
    StreamKey stream;
    std::uint64_t event = 0;
  };
  std::unordered_map<CorrelationId, Target> targets_;
  std::unordered_map<CorrelationId, std::uint32_t> first_work_;  // row of trace_.operations
};

}  // namespace synctrace
