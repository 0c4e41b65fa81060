// SPDX-License-Identifier: Apache-2.0
// Which lines of a program one change sets right together, and what sort of change that is.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "findings/calls/stack_places.h"
#include "findings/libraries/library_remedy.h"
#include "findings/remedies/cpu_work.h"
#include "findings/remedies/frameworks.h"
#include "findings/remedies/host_data.h"
#include "findings/remedies/host_loops.h"
#include "findings/remedies/launch_targets.h"
#include "findings/remedies/needless_calls.h"
#include "whatif/fix_groups.h"
#include "whatif/fix_sites.h"
#include "whatif/what_stays.h"

namespace synctrace {

enum class RemedyKind : std::uint8_t {
  kNone,
  kGraph,          // the launches of the step, or of its modules and backward, become one graph
  kLoopOfKernels,  // a loop in one function that launches small kernels
  kOptimizer,      // an optimizer that launches a kernel for each parameter
  kReadLater,      // a value is read a step later, or less often
  kRemoveWait,
  kStopPolling,
  kCopyManaged,  // the host may read managed memory behind a wait
  kWaitLater,    // a copy to the host is waited for later
  kPinned,       // copies to the device from pinned memory
  kOneCopy,      // many small copies from one line
  kKeepMemory,
  kKeepPool,  // a pool that gives its memory back at each wait
  kFeed,      // the loader
  kByIndex,   // a loader of the GPU's own tensors
  kHostCode,  // one line of the host's
  kNoCollection,
  kPreload,
  kDropDependency,
  kCompile,    // one function or stretch of lines becomes one graph
  kDropCall,   // a call that no step needs
  kLibrary,    // a switch of the library in which it waits
  kOnHost,     // a few values of the host go to the GPU and back
  kOneGraph,   // what breaks the graph of a compiled model
  kOnGpu,      // a function computes on the CPU with what it copies from the GPU
  kAllAtOnce,  // a loop that takes one item after the other
  kHostData,   // what the host makes and copies to the GPU in each step
  kTestLess,   // a loop that reads in each turn whether it is done
};

// A change that sets several lines right together.
struct RemedyGroup {
  RemedyKind kind = RemedyKind::kNone;
  // What is to be compiled, computes on the CPU or makes data; empty for lines of the steps' loop.
  std::string function = {};
  const LibraryRemedy* library = nullptr;  // kLibrary
  const CpuFunction* on_cpu = nullptr;     // kOnGpu
  const HostLoop* loop = nullptr;          // kAllAtOnce, kTestLess
  const DataOfHost* data = nullptr;        // kHostData
};

// Some call allocates memory that the host and the GPU share: cudaMallocManaged.
bool allocates_managed_memory(const Trace& trace);

class RemedyKinds {
 public:
  // All must outlive the object. `starts_workers_again`: the loader's, for each epoch.
  RemedyKinds(const Trace& trace, const DoneInRun& run, StackPlaces& places, const StepsReport& loop,
              bool starts_workers_again)
      : trace_(trace),
        places_(places),
        frameworks_(trace),
        targets_(trace, loop, places.user_code()),
        loops_(trace, run, places, loop),
        cpu_work_(trace, run, places, loop),
        data_(run, cpu_work_, places, loop),
        has_managed_memory_(allocates_managed_memory(trace)),
        starts_workers_again_(starts_workers_again) {
    find_dispatched(run, loop);
  }

  // What whatif's GroupOf and WhatGoes ask for.
  GroupOfFix group_of(const FixSite& site, double alone_share, double each_step);
  Goes what_goes(StackPlace place);
  // What stays of all that is done at a place when it goes.
  WhatStays what_stays(StackPlace place);
  // PyTorch's compiler would make that graph: of a module and its backward, not of an optimizer or of a loop.
  bool is_compiled(const FixSite& site);

  const RemedyGroup& group(std::uint32_t number) const { return groups_[number]; }
  std::uint32_t group_of_key(const FixKey& key) const;
  const Frameworks& frameworks() const { return frameworks_; }
  const LaunchTargets& targets() const { return targets_; }
  // A wait that keeps launches from becoming a graph, the first that was met; else nothing known.
  const SourceLine& obstacle() const { return obstacle_; }

 private:
  const SourceLine& line_of(StackPlace place);
  // The function whose operations JAX dispatches one by one at that line, and which could be compiled instead; else
  // empty.
  std::string dispatched_at(const SourceLine& where) const;
  void find_dispatched(const DoneInRun& run, const StepsReport& loop);
  // The innermost of these functions that calls the line, or holds it; else empty.
  std::string dispatched_in(const SourceLine& where) const;
  // The row of a library by which all host code of that line goes; null: none.
  const LibraryRemedy* host_code_that_goes(const SourceLine& where) const;
  // Likewise of a read there and all around it.
  const LibraryRemedy* read_that_goes(const SourceLine& where) const;
  bool is_needless(StackPlace place);
  const CpuFunction* function_on_cpu(const SourceLine& where) const;
  const RemedyGroup& whole_at(StackPlace place);
  RemedyGroup find_whole(StackPlace place);
  bool is_told(const RemedyGroup& whole, double alone_share) const;
  bool is_query(const FixKey& key);
  bool may_read_managed(const FixKey& key);
  bool takes_from_pool(const FixKey& key);
  RemedyGroup launch_group(const FixSite& site, double each_step);
  RemedyGroup python_launch_group(const SourceLine& where, double each_step);
  RemedyGroup group_by_fix(const FixSite& site, double alone_share, double each_step);

  const Trace& trace_;
  const StackPlaces& places_;
  const Frameworks frameworks_;
  const LaunchTargets targets_;
  const HostLoops loops_;
  const CpuWork cpu_work_;
  const HostData data_;
  const bool has_managed_memory_;
  const bool starts_workers_again_;
  std::set<std::string> dispatched_;  // functions
  SourceLine obstacle_;
  std::vector<RemedyGroup> groups_ = {{}};
  std::map<std::tuple<RemedyKind, std::string, std::uint32_t, std::string>, std::uint32_t> numbers_;
  std::unordered_map<FixKey, std::uint32_t, FixKeyHash> of_keys_;
  std::unordered_map<StackPlace, SourceLine> lines_;
  std::unordered_map<StackPlace, RemedyGroup> wholes_;
  std::unordered_map<StackPlace, bool> needless_;
};

}  // namespace synctrace
