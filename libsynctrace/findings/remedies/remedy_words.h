// SPDX-License-Identifier: Apache-2.0
// A change of the program in words: what it is called, and what to write.
#pragma once

#include <string>
#include <vector>

#include "findings/remedies/frameworks.h"
#include "findings/remedies/remedy_kinds.h"

namespace synctrace {

struct RemedyWords {
  std::string title;
  std::vector<std::string> to_type;
};

// `fixes` are those of the change, dearest first; at least one. `function` holds the loop of a kLoopOfKernels.
RemedyWords remedy_words(RemedyKind kind, Framework framework, const std::vector<ShownFix>& fixes,
                         const std::string& function);

// A line of Python with `non_blocking=True` in each of its copies to the device; empty where it has none to add to.
std::string with_non_blocking(const std::string& source);

}  // namespace synctrace
