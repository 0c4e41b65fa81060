// SPDX-License-Identifier: Apache-2.0
// A change of the program in words: what it is called, and what to write.
#pragma once

#include <string>
#include <vector>

#include "base/shares.h"
#include "findings/remedies/frameworks.h"
#include "findings/remedies/remedy_kinds.h"

namespace synctrace {

struct RemedyWords {
  std::string title;
  std::vector<std::string> to_type;
  Share part = {1, 1};  // what it brings of the saving of its fixes: one read of several stays
};

// `fixes` are those of the change, dearest first; at least one. `modules`: of torch.nn, that a kGraph would hold.
RemedyWords remedy_words(const RemedyGroup& group, Framework framework, const std::vector<ShownFix>& fixes,
                         const std::vector<LaunchTarget>& modules = {});

// What to write where a framework compiles again for each new shape or value; empty where it does not.
std::vector<std::string> recompile_words(Framework framework, const SourceLine& where);

// A line of Python with `non_blocking=True` in each of its copies to the device; empty where it has none to add to.
std::string with_non_blocking(const std::string& source);

}  // namespace synctrace
