// SPDX-License-Identifier: Apache-2.0
// The causes of a device's idle time, added up: one row for each cause, place and what the host did. The rows of idle
// time sum to the device's idle time to the nanosecond, those of copy-only time to its copy-only time.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "attribution/call_site_key.h"
#include "attribution/cause.h"
#include "attribution/host_timeline.h"
#include "model/trace.h"
#include "steps/phase_search.h"
#include "steps/steps.h"

namespace synctrace {

struct CauseKey {
  CauseKind kind = CauseKind::kUnknown;
  CauseKind activity_kind = CauseKind::kUnknown;
  Reason reason = Reason::kNone;
  bool drained = false;
  bool copying = false;
  CallSiteKey site;
  CallSiteKey activity;  // equals site unless drained, or done by a library's thread that the site waited for
  friend bool operator==(const CauseKey&, const CauseKey&) = default;
};

struct CauseKeyHash {
  std::size_t operator()(const CauseKey& key) const noexcept;
};

struct Cause {
  CauseKey key;
  Nanoseconds idle_ns = 0;                                // or copy-only time, where key.copying
  Nanoseconds steady_ns = 0;                              // its part in ordinary steps
  Nanoseconds irregular_ns = 0;                           // its part in steps that took unusually long
  std::array<Nanoseconds, kConfidences> by_confidence{};  // sums to idle_ns
  Nanoseconds uncertain_in_steps_ns = 0;                  // the part of steady_ns known with low confidence
  std::uint64_t occurrences = 0;                          // times that the owner cost something
  ThreadId thread{};                                      // one of those concerned
  std::uint32_t number = 0;                               // its place among the device's causes, by first appearance
};

class CauseTable {
 public:
  CauseTable(const Trace& trace, const std::vector<HostTimeline::Neighbours>& stretches)
      : trace_(trace), stretches_(stretches) {}

  // Cause::number of the row that it was added to.
  std::uint32_t add(const Part& part, PhaseSearch::At step);

  // Dearest first; of equals, in order of first appearance.
  std::vector<Cause> take();
  // Idle time in other phases and between steps, by phase, of each in the order of the causes' numbers.
  std::vector<PhaseIdle> take_phases();

 private:
  CallSiteKey key_of(Owner owner) const;
  bool add_row(const CauseKey& key, ThreadId thread);

  const Trace& trace_;
  const std::vector<HostTimeline::Neighbours>& stretches_;
  std::vector<Cause> causes_;
  std::vector<Owner> last_owner_;  // beside causes_
  std::uint32_t last_ = 0;         // the row added to
  std::unordered_map<CauseKey, std::uint32_t, CauseKeyHash> index_;
  std::unordered_map<std::uint64_t, Nanoseconds> in_phases_;  // by phase and cause: most causes lie in none, or in one
};

}  // namespace synctrace
