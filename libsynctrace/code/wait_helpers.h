// SPDX-License-Identifier: Apache-2.0
// Small functions of the user's that only wait or copy for their callers, such as `barrier()` and `to_host(x)`. A wait
// in such a helper is shown at the line that calls it, else all waits of a program would be one row.
// The stacks of a recording decide. docs/attribution.md has the rule and its reasons.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "code/user_frame.h"

namespace synctrace {

class WaitHelpers {
 public:
  static constexpr std::uint8_t kWait = 1;  // bits that say what a stack was seen at
  static constexpr std::uint8_t kCopy = 2;

  WaitHelpers() = default;  // knows none
  explicit WaitHelpers(UserCode code) : code_(std::move(code)) {}

  // First all stacks of waits and copies, then those of launches; each once is enough.
  void add_wait(std::span<const ResolvedFrame> stack, std::uint8_t what);
  void add_launch(std::span<const ResolvedFrame> stack);

  // Whether the callers of some function differ; whether this one looks like a helper until launches have their say.
  bool any() const;
  bool may_be_helper(std::string_view file, std::string_view function) const;

  // The frame to show in place of the innermost user frame, and the helper that it calls: both indices in the stack.
  // Where that frame is in no helper, both are its own.
  struct Shown {
    std::size_t caller = 0;
    std::size_t helper = 0;
  };
  Shown shown_frame(std::span<const ResolvedFrame> stack, const ChosenFrame& innermost) const;

 private:
  // The innermost user frame, and the user's functions around it as long as each calls the next one directly.
  struct Chain {
    static constexpr std::size_t kMostCallers = 3;       // a helper, one that calls it, and one more
    std::size_t count = 0;                               // zero: no line of the user's
    std::array<std::size_t, kMostCallers + 1> frames{};  // indices in the stack
  };
  struct Function {
    std::set<std::uint32_t> wait_lines, copy_lines;  // where it waits and copies, or calls what does
    bool does_more = false;                          // launches kernels, or calls itself
  };
  using Callers = std::set<std::pair<std::string, std::uint32_t>>;  // function and line

  Chain chain_of(std::span<const ResolvedFrame> stack, const ChosenFrame& innermost) const;
  const Function* helper_at(const ResolvedFrame& frame) const;  // null: the frame does not wait inside of a helper
  static bool is_small(const Function& function);
  bool callers_differ(const ResolvedFrame& frame) const;
  std::size_t caller_of(std::span<const ResolvedFrame> stack, std::size_t index) const;

  UserCode code_;
  std::unordered_map<std::string, Function> functions_;
  std::unordered_map<std::string, Callers> callers_;  // by function; a template counts as one
};

}  // namespace synctrace
