// SPDX-License-Identifier: Apache-2.0
// The user's own line as a report shows it, with one stack that leads there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/frames.h"

namespace synctrace {

// One frame of a stack that a report shows.
struct ShownFrame {
  ResolvedFrame frame;
  std::string source;   // text of its line; empty: not known
  bool hidden = false;  // the interpreter's own machinery, of no use to most readers
};

// Where a small function of the user's waits for its callers, `barrier()` of util.h (code/wait_helpers.h), or where a
// library does for which a switch of its own is known (findings/libraries).
struct HelperLine {
  std::string file;
  std::uint32_t line = 0;
  std::string function;
  std::string source;

  bool is_library = false;

  bool known() const noexcept { return !file.empty(); }
  bool is_users() const noexcept { return known() && !is_library; }
};

// The user's own line that made a call, or that called the helper which made it.
struct SourceLine {
  std::string file;  // empty: not known
  std::uint32_t line = 0;
  std::string function;  // empty: nothing is known of the place
  std::string source;
  std::vector<ShownFrame> stack;  // the frames of one such call, innermost first
  HelperLine through = {};        // the helper that `line` calls; known only where its callers are told apart

  bool known() const noexcept { return !function.empty() || !file.empty(); }
};

inline bool has_text(const SourceLine& where, std::string_view text) noexcept {
  return where.source.find(text) != std::string::npos;
}
inline bool any_has_text(const std::vector<SourceLine>& lines, std::string_view text) noexcept {
  return std::any_of(lines.begin(), lines.end(), [&](const SourceLine& each) { return has_text(each, text); });
}

// Adds a line to others where it is not among them.
inline void add_line(SourceLine line, std::vector<SourceLine>& lines) {
  const auto is_same = [&](const SourceLine& one) { return one.line == line.line && one.file == line.file; };
  if (std::none_of(lines.begin(), lines.end(), is_same)) lines.push_back(std::move(line));
}

}  // namespace synctrace
