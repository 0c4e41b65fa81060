// SPDX-License-Identifier: Apache-2.0
// Why each GPU lacked work: its causes at their places, and what it did otherwise. Times are ns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attribution/cause.h"
#include "attribution/collective_time.h"
#include "attribution/device_state.h"
#include "attribution/device_use.h"
#include "base/time_span.h"
#include "findings/report/rules.h"
#include "findings/report/savings.h"
#include "findings/report/source_line.h"

namespace synctrace {

// What the host did while the time was a wait's doing.
struct IdleActivity {
  std::string name;
  SourceLine where;
  Nanoseconds idle_ns = 0;
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

struct DeviceReport {
  std::uint32_t id = 0;
  std::string name;
  DeviceState state;
  CollectiveTime collectives;          // compute time in which only collectives ran, to move data or to wait for others
  DeviceUse use;                       // all zero: nobody looked
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

}  // namespace synctrace
