// SPDX-License-Identifier: Apache-2.0
// The rule of what happens at a line, the same in every table. One statement of a framework makes several calls:
// `.item()` a copy of a few bytes and a wait, `.to("cuda")` a copy of pageable memory and a wait, and the transfer runs
// on the GPU while the next kernel waits for it. All of that is one finding at one line, whichever of them happened to
// cost the time.
#pragma once

#include <unordered_map>

#include "attribution/cause_table.h"
#include "attribution/stack_traits.h"
#include "findings/calls/stack_places.h"
#include "findings/report/rules.h"
#include "model/trace.h"

namespace synctrace {

class LineRules {
 public:
  // Reads all calls once. The arguments must outlive the object.
  LineRules(const Trace& trace, const StackReader& stacks, StackPlaces& places);

  // `place`: of the call's stack. Null: no rule.
  const Rule* of(const Call& call, StackPlace place) const;
  const Rule* of(const CauseKey& key, StackPlace place) const;

 private:
  struct Line {
    const Rule* reads = nullptr;  // what its copies to the host are for, if they read numbers or sizes
    const Rule* copy = nullptr;   // the rule of a copy behind which its stream is synchronised
    bool is_function = false;     // its line is not known
  };
  void note_read(const Call& call, StackPlace place, const StackReader& stacks, StackPlaces& places);
  const Rule* of_sync(StackPlace place) const;
  const Rule* of_copy(const Rule* rule, CopyKind kind, StackPlace place) const;
  const Line& line(StackPlace place) const;

  const Trace& trace_;
  std::unordered_map<StackPlace, Line> lines_;
};

// Whether one statement made both: the synchronisation follows the copy on its thread, from the same line, on the same
// stream.
bool is_one_statement(const Call& copy, const Call& sync, StackPlaces& places);

}  // namespace synctrace
