// SPDX-License-Identifier: Apache-2.0
// What one recording says over time, for tables that hold many recordings: sites that are known again elsewhere, what
// each of them cost in each minute, the steps and the exchange with other ranks. Plain data, owns its texts. Times of
// day are ns since 1970 on the wall clock, lengths are ns; every figure is an integer that may be added up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time_span.h"
#include "findings/calls/fingerprint.h"
#include "findings/report/wait_figures.h"
#include "whatif/fix.h"

namespace synctrace {

// What calls came to, and what a GPU did meanwhile.
struct SiteFigures : WaitFigures {
  Nanoseconds idle_ns = 0;       // the GPU had no work
  Nanoseconds uncertain_ns = 0;  // the part known with low confidence only
  Nanoseconds copying_ns = 0;    // the GPU did nothing but copy

  using WaitFigures::add;
  void add(const SiteFigures& other) noexcept;
};

// A line with a rule or, without one, with what was found there. Every nanosecond of a GPU's idle time is at one
// site: "unknown", "startup" and the like are sites without a line.
struct HistorySite {
  Fingerprint fingerprint;
  std::string rule;   // its id; empty: none
  std::string name;   // the rule's, or the cause's
  std::string cause;  // the one with most idle time; empty: it cost none
  std::uint32_t line = 0;
  std::string source;
  SiteFigures figures;               // all windows and devices together
  Nanoseconds idle_in_steps_ns = 0;  // the part of the idle time in ordinary steps
  Interval saving;                   // by its fix alone, of the run; savings of sites do not add up
  Nanoseconds others_waited_ns = 0;  // other ranks waited in ordinary steps because of what this one did there
  Nanoseconds most_idle_ns = 0;      // what `cause` cost
};

inline constexpr std::int64_t kNoDevice = -1;  // figures of the host have no device
inline constexpr std::int64_t kNoRankNumber = -1;

struct SiteWindow {
  Nanoseconds begin_ns = 0;  // when the window begins
  std::int64_t device = kNoDevice;
  std::uint32_t site = 0;  // row of RunHistory::sites
  SiteFigures figures;
};

struct HistoryStep {
  std::uint64_t number = 0;  // among all steps, from 0
  Nanoseconds begin_ns = 0;
  Nanoseconds length_ns = 0;
  std::string_view kind;  // "warm-up", "ordinary", "irregular"; static storage
};

// The operations of one sort between ranks that began in one window.
struct ExchangeWindow {
  Nanoseconds begin_ns = 0;
  std::uint64_t communicator = 0;          // the same number on all its ranks; 0: not known
  std::string operation;                   // "AllReduce"
  std::uint64_t bytes = 0;                 // bytes of one operation
  std::int64_t late_rank = kNoRankNumber;  // that was waited for; kNoRankNumber: none, or it is not known which
  std::uint64_t count = 0;
  Nanoseconds time_ns = 0;  // time of their kernels: the three below add up to it
  Nanoseconds waiting_ns = 0;
  Nanoseconds transfer_ns = 0;
  Nanoseconds unsplit_ns = 0;  // not known which of both
};

struct RunHistory {
  std::uint64_t id = 0;               // identifies the recording, whatever its file is called, and whether it is whole
  std::string job;                    // the launcher's name; empty: it gives none
  std::int64_t rank = kNoRankNumber;  // the launcher's number
  Nanoseconds begin_ns = 0;
  Nanoseconds window_ns = 0;  // length of a window
  std::vector<HistorySite> sites;
  std::vector<SiteWindow> windows;        // by begin, device and site; sum to `sites`
  std::vector<HistoryStep> steps;         // in order
  std::vector<ExchangeWindow> exchanges;  // by begin
};

}  // namespace synctrace
