// SPDX-License-Identifier: Apache-2.0
// One stack out of a Python and a native one. An eval loop of CPython is a native frame that runs a group of Python
// frames; those belong right inside it. From 3.11 on the interpreter keeps something of each eval loop in that loop's
// own C frame, so addresses tell which it is; before, each Python frame has an eval loop of its own, told by its code.
// A pure function: any thread, also in a signal handler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/python/python_frames.h"
#include "capture/unwind/native_unwind.h"

namespace synctrace::capture {

// One place of the merged stack.
struct StackItem {
  enum class Kind : std::uint16_t {
    kPython,
    kNative,
    kMissing,    // frames that were not taken belong here
    kUnordered,  // Python frames before it, native ones behind it: where they belong is not known
  };
  Kind kind = Kind::kMissing;
  std::uint16_t index = 0;  // among the frames of its kind
};

struct StackParts {
  std::span<const PythonFrame> python;  // innermost first, as all here
  bool python_is_whole = true;
  std::span<const NativeFrame> native;
  bool native_is_whole = true;
  std::uintptr_t native_sp = 0;  // where the first native frame begins
  // The code of the eval loop, for interpreters up to 3.10; empty for later ones.
  std::uintptr_t eval_begin = 0;
  std::uintptr_t eval_end = 0;
};

// Room that a merged stack needs beside its frames: for kMissing and kUnordered.
inline constexpr std::size_t kExtraItems = 4;

// Returns how many items were written. `out` has room for all frames and kExtraItems.
std::size_t merge_stacks(const StackParts& parts, std::span<StackItem> out) noexcept;

}  // namespace synctrace::capture
