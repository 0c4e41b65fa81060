// SPDX-License-Identifier: Apache-2.0
// What a user asks of a recording: "what if this line read its value a step later, and that copy came from pinned
// memory?" Fixes that would not be legal at a line are not granted: the answer says which one is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "whatif/program.h"

namespace synctrace {

struct FixWish {
  std::string words;       // the question's own
  std::optional<Fix> fix;  // nothing: whatever fits
  std::string file;        // the end of its path
  std::uint32_t line = 0;
};

struct WhatIfQuestion {
  std::vector<FixWish> wishes;
  bool pinned = false;         // every copy to the device comes from pinned memory and waits for nothing
  bool no_input_wait = false;  // every batch is there when it is asked for
  std::string graph_range;     // what is launched inside this NVTX range is one graph
  bool with_sets = false;      // SavingsReport::sets and JobReport::sets, beside the answer

  bool empty() const noexcept { return wishes.empty() && !pinned && !no_input_wait && graph_range.empty(); }
};

// "fix@train.py:88,async-copy@train.py:46": names of fixes as in JSON, "fix" for the one that fits. Adds to `question`;
// an error is one sentence.
std::optional<Error> add_wishes(std::string_view text, WhatIfQuestion& question);

// "pinned", "no-input-wait" or "graph:RANGE", several separated by commas.
std::optional<Error> add_assumptions(std::string_view text, WhatIfQuestion& question);

}  // namespace synctrace
