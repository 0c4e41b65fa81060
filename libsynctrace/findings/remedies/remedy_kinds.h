// SPDX-License-Identifier: Apache-2.0
// Which lines of a program one change sets right together, and what sort of change that is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "findings/calls/stack_places.h"
#include "whatif/fix_groups.h"

namespace synctrace {

enum class RemedyKind : std::uint8_t {
  kNone,
  kGraph,          // the launches of the step become one graph
  kLoopOfKernels,  // a loop in one function that launches small kernels
  kOptimizer,      // an optimizer that launches a kernel for each parameter
  kReadLater,      // a value is read a step later, or less often
  kRemoveWait,
  kStopPolling,
  kWaitLater,  // a copy to the host is waited for later
  kPinned,     // copies to the device from pinned memory
  kOneCopy,    // many small copies from one line
  kKeepMemory,
  kFeed,      // the loader
  kHostCode,  // one line of the host's
  kNoCollection,
  kPreload,
  kDropDependency,
};

class RemedyKinds {
 public:
  // Both must outlive the object.
  RemedyKinds(const Trace& trace, const StackPlaces& places) : trace_(trace), places_(places) {}

  // What whatif's GroupOf asks for.
  GroupOfFix group_of(const FixSite& site, double alone_share, double each_step);
  RemedyKind kind_of_group(std::uint32_t group) const { return groups_[group].kind; }
  // The function that holds the loop.
  const std::string& function_of_group(std::uint32_t group) const { return groups_[group].function; }
  std::uint32_t group_of_key(const FixKey& key) const;

 private:
  struct Group {
    RemedyKind kind = RemedyKind::kNone;
    std::string function;
  };
  const SourceLine& line_of(StackPlace place);
  bool is_query(const FixKey& key);
  Group launch_group(const FixSite& site, double each_step);

  const Trace& trace_;
  const StackPlaces& places_;
  std::vector<Group> groups_ = {{}};
  std::map<std::tuple<RemedyKind, std::string, std::uint32_t>, std::uint32_t> numbers_;
  std::unordered_map<FixKey, std::uint32_t, FixKeyHash> of_keys_;
  std::unordered_map<StackPlace, SourceLine> lines_;
};

}  // namespace synctrace
