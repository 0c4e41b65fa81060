// SPDX-License-Identifier: Apache-2.0
// The same stack by our tables and by libgcc, taken in one function so that all frames but the first must agree.
#pragma once

#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "capture/unwind/native_unwind.h"

namespace synctrace::test {

struct OracleStack {
  static constexpr std::size_t kRoom = 512;
  std::array<capture::NativeFrame, kRoom> frames{};
  std::size_t count = 0;
};

inline _Unwind_Reason_Code take_oracle_frame(_Unwind_Context* context, void* into) {
  OracleStack& stack = *static_cast<OracleStack*>(into);
  const std::uintptr_t pc = _Unwind_GetIP(context);
  if (stack.count != 0) stack.frames[stack.count - 1].cfa = _Unwind_GetCFA(context);
  if (pc == 0 || stack.count == OracleStack::kRoom) return _URC_END_OF_STACK;
  stack.frames[stack.count++] = {pc, 0};
  return _URC_NO_REASON;
}

struct Comparison {
  capture::Walk walk;
  OracleStack ours;
  OracleStack libgcc;
  // Frames that agree, counted from the innermost; all of them when it equals ours.count and libgcc.count.
  std::size_t equal = 0;
  bool all_equal() const { return equal == ours.count && equal == libgcc.count; }
};

[[gnu::noinline]] inline void compare_here(Comparison& comparison) {
  comparison.walk = capture::walk_here(comparison.ours.frames);
  comparison.ours.count = comparison.walk.count;
  comparison.libgcc.count = 0;
  _Unwind_Backtrace(take_oracle_frame, &comparison.libgcc);
  const std::size_t count = std::min(comparison.ours.count, comparison.libgcc.count);
  const auto agrees = [&](std::size_t i) {
    const capture::NativeFrame& a = comparison.ours.frames[i];
    const capture::NativeFrame& b = comparison.libgcc.frames[i];
    // The first pcs are of two calls in this function; the root's upper end is nobody's stack pointer.
    return (i == 0 || a.pc == b.pc) && (a.cfa == b.cfa || i + 1 == count);
  };
  for (comparison.equal = 0; comparison.equal < count && agrees(comparison.equal);) ++comparison.equal;
}

}  // namespace synctrace::test
