// SPDX-License-Identifier: Apache-2.0
// The stacks of rows in formats that repeat the whole stack beside each call.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/trace.h"

namespace synctrace {

class RowStacks {
 public:
  using Quote = std::string (*)(std::string_view);

  // `trace` must outlive the object.
  RowStacks(const Trace& trace, Quote quote) : trace_(trace), quote_(quote) {}

  // Innermost first, a frame on each line, quoted. Where the stacks of the rows so far are much longer than those of
  // any recording, the innermost frames alone, and "..". Valid until the next call.
  const std::string& of(StackId id);

 private:
  std::string text_of(StackId id, std::size_t most_bytes) const;

  const Trace& trace_;
  Quote quote_;
  std::size_t rows_ = 0;
  std::size_t bytes_ = 0;  // all rows together
  std::unordered_map<StackId, std::string> whole_;
  std::unordered_map<StackId, std::string> cut_;
};

}  // namespace synctrace
