// SPDX-License-Identifier: Apache-2.0
// The chain of a thread's Python frames, innermost first, for each way in which CPython has linked them. A visitor gets
// frame(code, offset), which answers whether to go on, and entry(address) behind the frames of each eval loop. Memory
// is PlainMemory inside of calls and GuardedMemory in signal handlers. For python_frames.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "capture/python/python_runtime.h"

namespace synctrace::capture {

// Frames visited on one walk, shims and incomplete ones included. Far above any stack whose recursion limit was left
// alone; it is what ends a chain that runs in a circle.
inline constexpr int kMaxVisited = 4096;

enum class VisitEnd : std::uint8_t { kRoot, kStopped, kTooDeep, kBroken };

// Walks from the top of one thread's frames; `Memory` decides how it reads.
template <class Memory>
class PythonVisit {
 public:
  PythonVisit(const PythonRuntime& python, Memory& memory) noexcept
      : python_(python), at_(python.layout), memory_(memory) {}

  // Where the frames of a thread begin: its innermost frame, or in 3.11 and 3.12 a record on the C stack that names it.
  std::uintptr_t top_of(std::uintptr_t thread_state) noexcept {
    return load_pointer(memory_, thread_state + at_.thread_frame);
  }

  // The top of the frames that the next outer eval loop runs; 0 when there is none, or no record that says so. For an
  // eval loop that was interrupted before its record named a frame.
  std::uintptr_t next_top(std::uintptr_t top) noexcept {
    if (at_.minor == 11) return load_pointer(memory_, top + python_object::kRecordPrevious311);
    if (at_.minor == 12) return load_pointer(memory_, top + python_object::kRecordPrevious312);
    return 0;
  }

  template <class Visitor>
  VisitEnd from(std::uintptr_t top, Visitor& visitor) noexcept {
    switch (at_.frame_kind) {
      case PythonFrameKind::kObjects: return objects(top, visitor);
      case PythonFrameKind::kEntryFlag: return flagged(top, visitor);
      case PythonFrameKind::kShimFrames: return shimmed(top, visitor);
    }
    return VisitEnd::kBroken;
  }

 private:
  static constexpr std::size_t kFrameBytes =
      112;  // what a walk reads of a frame and of a code object lies within these
  static constexpr std::size_t kCodeBytes = 208;

  VisitEnd at_root() const noexcept { return memory_.failed() ? VisitEnd::kBroken : VisitEnd::kRoot; }

  bool is_frame(std::uintptr_t frame) noexcept {
    if (!is_plausible(frame)) return false;
    memory_.expect_frame(frame, kFrameBytes);
    return true;
  }

  bool is_code(std::uintptr_t code) noexcept {
    if (!is_plausible(code)) return false;
    memory_.expect(code, kCodeBytes);
    return has_type(memory_, code, python_.code_type) && is_alive(memory_, code);
  }

  // Code objects lie anywhere: where the kernel reads, those of the innermost frames are read in one call. From 3.11 on
  // their frames lie together.
  void expect_codes(std::uintptr_t frame) noexcept {
    if constexpr (!Memory::kIsTrusted) {
      std::array<std::uintptr_t, Memory::kObjects> codes{};
      auto end = codes.begin();
      for (std::size_t i = 0; i < codes.size() && frame != 0 && is_frame(frame); ++i) {
        const std::uintptr_t code = load_pointer(memory_, frame + at_.frame_code) & ~std::uintptr_t{7};
        if (is_plausible(code) && std::find(codes.begin(), end, code) == end) *end++ = code;
        frame = load_pointer(memory_, frame + at_.frame_previous);
      }
      memory_.expect_all({codes.begin(), end}, kCodeBytes);
    }
  }

  std::uint8_t byte_at(std::uintptr_t address) noexcept { return memory_.template load<std::uint8_t>(address); }

  // 3.11+: whether the frame of `code` has begun; its offset, if so. A frame that has not is being set up, or is one of
  // the interpreter's own (3.13 has a hidden __init__ for every class that is called).
  bool has_begun(std::uintptr_t frame, std::uintptr_t code, std::uint8_t owner, std::int64_t& offset) noexcept {
    const std::uintptr_t position = load_pointer(memory_, frame + at_.frame_position);
    offset = static_cast<std::int64_t>(position - (code + at_.code_bytecode));
    return owner == python_object::kOwnedByGenerator ||
           offset >= std::int64_t{2} * memory_.template load<std::int32_t>(code + at_.code_traceable);
  }

  // 3.8-3.10: frame objects.
  template <class Visitor>
  VisitEnd objects(std::uintptr_t frame, Visitor& visitor) noexcept {
    for (int i = 0; frame != 0; ++i) {
      if (i == kMaxVisited) return VisitEnd::kTooDeep;
      if (!is_frame(frame)) return VisitEnd::kBroken;
      const std::uintptr_t code = load_pointer(memory_, frame + at_.frame_code);
      if (!is_code(code)) return VisitEnd::kBroken;
      const std::int64_t position = memory_.template load<std::int32_t>(frame + at_.frame_position);
      if (!visitor.frame(code, position * at_.position_scale)) return VisitEnd::kStopped;
      visitor.entry(0);
      frame = load_pointer(memory_, frame + at_.frame_previous);
    }
    return at_root();
  }

  // 3.11: a flag marks the entries, and the records on the C stack run in step with them.
  template <class Visitor>
  VisitEnd flagged(std::uintptr_t record, Visitor& visitor) noexcept {
    if (!is_plausible(record)) return VisitEnd::kBroken;
    std::uintptr_t frame = load_pointer(memory_, record + python_object::kRecordFrame311);
    expect_codes(frame);
    for (int i = 0; frame != 0; ++i) {
      if (i == kMaxVisited) return VisitEnd::kTooDeep;
      if (!is_frame(frame)) return VisitEnd::kBroken;
      const std::uintptr_t code = load_pointer(memory_, frame + at_.frame_code);
      if (!is_code(code)) return VisitEnd::kBroken;
      std::int64_t offset = 0;
      if (has_begun(frame, code, byte_at(frame + at_.frame_owner), offset) && !visitor.frame(code, offset))
        return VisitEnd::kStopped;
      if (byte_at(frame + python_object::kEntryFlag311) != 0) {
        visitor.entry(record);
        if (record != 0) record = load_pointer(memory_, record + python_object::kRecordPrevious311);
        if (record != 0 && !is_plausible(record)) return VisitEnd::kBroken;
      }
      frame = load_pointer(memory_, frame + at_.frame_previous);
    }
    return at_root();
  }

  // 3.12+: the shim that ends an eval loop's frames lies in that loop's C frame. Up to 3.12 the top is a record, whose
  // first field is the frame.
  template <class Visitor>
  VisitEnd shimmed(std::uintptr_t top, Visitor& visitor) noexcept {
    if (at_.minor == 12 && !is_plausible(top)) return VisitEnd::kBroken;
    std::uintptr_t frame = at_.minor == 12 ? load_pointer(memory_, top) : top;
    expect_codes(frame);
    for (int i = 0; frame != 0; ++i) {
      if (i == kMaxVisited) return VisitEnd::kTooDeep;
      if (!is_frame(frame)) return VisitEnd::kBroken;
      const std::uint8_t owner = byte_at(frame + at_.frame_owner);
      if (owner >= python_object::kOwnedByC) {
        visitor.entry(frame);
      } else {
        // 3.14 keeps flags in the low bits; 3.13 and later run things that are no code objects.
        const std::uintptr_t code = load_pointer(memory_, frame + at_.frame_code) & ~std::uintptr_t{7};
        std::int64_t offset = 0;
        if (is_code(code) && has_begun(frame, code, owner, offset) && !visitor.frame(code, offset))
          return VisitEnd::kStopped;
      }
      frame = load_pointer(memory_, frame + at_.frame_previous);
    }
    return at_root();
  }

  const PythonRuntime& python_;
  const PythonLayout& at_;
  Memory& memory_;
};

}  // namespace synctrace::capture
