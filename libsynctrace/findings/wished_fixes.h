// SPDX-License-Identifier: Apache-2.0
// From the lines that a question names to what can be done about them, and from what was done to sentences.
#pragma once

#include <string>
#include <vector>

#include "findings/calls/stack_places.h"
#include "findings/what_if_question.h"
#include "whatif/what_if.h"

namespace synctrace {

class WishedFixes {
 public:
  // Both must outlive the object.
  WishedFixes(const WhatIfQuestion& question, StackPlaces& places) : question_(question), places_(places) {}

  std::vector<Choice> choices(const std::vector<FixSite>& sites);

  // How each wish was taken, where there was more than one way or none; after `choices`.
  std::vector<std::string> notes(const WhatIf& found) const;

 private:
  void take(const FixWish& wish, const std::vector<FixSite>& sites, std::vector<Choice>& choices);
  std::string note_of(const std::string& words, const Choice& choice, const WhatIf& found) const;

  const WhatIfQuestion& question_;
  StackPlaces& places_;
  std::vector<std::string> words_;    // one for each choice; empty: nothing has to be said of it
  std::vector<std::string> refused_;  // sentences about wishes that became no choice
};

}  // namespace synctrace
