// SPDX-License-Identifier: Apache-2.0
// A recorded run as a list of events that can be run again. Each event says what it has to wait for, and by how much it
// follows that. Weights are chosen so that running the list unchanged gives every recorded time again, to the
// nanosecond; the changes of a fix are stated per site. Events are in the order of the recorded times, and everything
// points back in that order, so one pass over them is a complete simulation of any set of fixes. Times and weights are
// ns.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "attribution/cause.h"
#include "base/ids.h"
#include "base/time_span.h"
#include "kernels/kernel_class.h"
#include "whatif/fix.h"
#include "whatif/replay_event.h"
#include "whatif/what_stays.h"

namespace synctrace {

// A place that a fix can change, and the fix that is legal there.
struct FixSite {
  FixKey key;
  Fix fix = Fix::kNone;
  bool shapes_work = false;  // a value read there decides on the next launches: no fix, only a ceiling
  WhatStays stays = {};
  std::uint64_t events = 0;
};

// Never more than a site's number can count to: FixSites sees to it.
inline std::uint16_t site_count(const std::vector<FixSite>& sites) noexcept {
  return static_cast<std::uint16_t>(sites.size());
}

struct ReplayStream {
  std::uint16_t device = 0;
  std::uint16_t waits_for =
      0;  // a stream whose work comes before that of this one: the default stream's rule; itself: none
  std::uint16_t feeds = 0;  // a stream that stands for this one and others; itself: none
};

// Typical quantities for things that a fix brings to light and the recording did not show.
struct ReplayPace {
  Nanoseconds async_call = 5'000;   // host time of an asynchronous copy
  Nanoseconds cached_call = 1'000;  // host time of an allocation from a cache
  Nanoseconds graph_node = 200;     // host time of a graph launch per node
  Nanoseconds graph_pause = 200;    // time between its nodes
  Nanoseconds graph_pause_high = 1'000;
  Nanoseconds launch_call = 5'000;
  bool link_measured = false;        // the speed of copies from pinned memory; else it was assumed
  std::int32_t latency_low = 3'000;  // spread of the latency of a launch into an idle stream
  std::int32_t latency_high = 20'000;
};

struct ReplayProgram {
  ReplayEvents events;
  std::vector<FixSite> sites;  // [0] is none
  std::vector<ReplayStream> streams;
  std::vector<KernelClass> kernels = {{}};  // [0] also stands for work that is no kernel
  std::vector<Nanoseconds> thread_begins;   // time of each thread's first event
  std::uint32_t slots = 0;
  std::uint32_t devices = 0;
  std::uint32_t steps = 0;           // steps that begin
  std::uint16_t graph_site = 0;      // the site of all launches in the range that is taken for a graph; 0: none
  std::uint64_t waits_in_graph = 0;  // waits that would have to leave that range first
  ReplayPace pace;

  Nanoseconds begin_ns = 0;        // begin of the recording
  Nanoseconds first_work_ns = 0;   // start of the first work
  Nanoseconds end_ns = 0;          // the last time of any event: an unchanged replay ends there
  Nanoseconds unexplained_ns = 0;  // sum of delays
  std::uint64_t unexplained = 0;   // work that started late for unknown reasons
  std::uint64_t edges = 0;         // edges that the recorded times were checked against
  std::uint64_t violations = 0;    // recorded times that break one by more than the clocks may disagree
  std::string refusal;             // why no conclusion can be drawn; empty: none
};

}  // namespace synctrace
