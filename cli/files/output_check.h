// SPDX-License-Identifier: Apache-2.0
// The output pattern of `run`, before the program starts: made independent of the folder the program may change to, and
// refused when it is wrong or would replace a file.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace synctrace::cli {

struct CheckedOutput {
  std::string pattern;                // absolute
  std::vector<std::string> warnings;  // sentences
  std::string no_trace;               // why none can be written there, as a sentence; empty: it can
};

// `given` is what the user wrote; empty for the default.
Result<CheckedOutput> check_output(const std::string& given, bool force_overwrite);

}  // namespace synctrace::cli
