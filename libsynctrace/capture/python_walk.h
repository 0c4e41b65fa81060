// SPDX-License-Identifier: Apache-2.0
// The rules by which a thread's Python frames are walked, per version, over either memory of python_memory.h. A visitor
// has
//   bool frame(std::uintptr_t code, const Block& about, std::int64_t offset)   innermost first; false ends the walk
//   void entry(std::uintptr_t address)   ends the frames of one eval loop; where the loop lies on the C stack, or 0
// For python_frames.
#pragma once

#include <cstdint>

#include "capture/python_memory.h"

namespace synctrace::capture {

// Frames visited on one walk, shims and incomplete ones included. Far above any stack whose recursion limit was left
// alone; it is what ends a chain that runs in a circle.
inline constexpr int kMaxVisitedFrames = 4096;

enum class FramesEnd : std::uint8_t { kRoot, kStopped, kTooDeep, kBroken };

// The code object at an address; false when there is none alive.
template <class Memory>
bool open_code(const PythonRuntime& python, Memory& memory, std::uintptr_t code, typename Memory::Block& about) noexcept {
  return is_plausible(code) && memory.open(code, code_bytes(python.layout), about) &&
         about.pointer(python_object::kType) == python.code_type && memory.is_alive(about);
}

// 3.11+: whether the frame of a code object has begun; its offset, if so. A frame that has not is being set up, or is
// one of the interpreter's own (3.13 has a hidden __init__ for every class that is called).
template <class Block>
bool has_begun(const PythonLayout& at, std::uintptr_t position, std::uint8_t owner, std::uintptr_t code,
               const Block& about, std::int64_t& offset) noexcept {
  offset = static_cast<std::int64_t>(position - (code + at.code_bytecode));
  return owner == python_object::kOwnedByGenerator || offset >= 2 * about.template get<std::int32_t>(at.code_traceable);
}

// 3.8-3.10: frame objects.
template <class Memory, class Visitor>
FramesEnd visit_objects(const PythonRuntime& python, Memory& memory, std::uintptr_t frame, Visitor& visitor) noexcept {
  const PythonLayout& at = python.layout;
  for (int i = 0; frame != 0; ++i) {
    if (i == kMaxVisitedFrames) return FramesEnd::kTooDeep;
    typename Memory::Block fields, about;
    if (!is_plausible(frame) || !memory.open_frame(frame, frame_bytes(at), fields)) return FramesEnd::kBroken;
    const std::uintptr_t code = fields.pointer(at.frame_code);
    if (!open_code(python, memory, code, about)) return FramesEnd::kBroken;
    const std::int64_t position = fields.template get<std::int32_t>(at.frame_position);
    if (!visitor.frame(code, about, position * at.position_scale)) return FramesEnd::kStopped;
    visitor.entry(0);
    frame = fields.pointer(at.frame_previous);
  }
  return FramesEnd::kRoot;
}

// 3.11: a flag marks the entries, and the records on the C stack run in step with them.
template <class Memory, class Visitor>
FramesEnd visit_flagged(const PythonRuntime& python, Memory& memory, std::uintptr_t record, Visitor& visitor) noexcept {
  const PythonLayout& at = python.layout;
  typename Memory::Block on_stack;
  constexpr std::size_t kRecordBytes = python_object::kRecordPrevious311 + 8U;
  if (!is_plausible(record) || !memory.open(record, kRecordBytes, on_stack)) return FramesEnd::kBroken;
  std::uintptr_t frame = on_stack.pointer(python_object::kRecordFrame311);
  for (int i = 0; frame != 0; ++i) {
    if (i == kMaxVisitedFrames) return FramesEnd::kTooDeep;
    typename Memory::Block fields, about;
    if (!is_plausible(frame) || !memory.open_frame(frame, frame_bytes(at), fields)) return FramesEnd::kBroken;
    const std::uintptr_t code = fields.pointer(at.frame_code);
    if (!open_code(python, memory, code, about)) return FramesEnd::kBroken;
    std::int64_t offset = 0;
    if (has_begun(at, fields.pointer(at.frame_position), fields.template get<std::uint8_t>(at.frame_owner), code, about, offset) &&
        !visitor.frame(code, about, offset)) {
      return FramesEnd::kStopped;
    }
    if (fields.template get<std::uint8_t>(python_object::kEntryFlag311) != 0) {
      visitor.entry(record);
      if (record != 0) {
        if (!memory.open(record, kRecordBytes, on_stack)) return FramesEnd::kBroken;
        record = on_stack.pointer(python_object::kRecordPrevious311);
      }
      if (record != 0 && !is_plausible(record)) return FramesEnd::kBroken;
    }
    frame = fields.pointer(at.frame_previous);
  }
  return FramesEnd::kRoot;
}

// 3.12+: the shim that ends an eval loop's frames lies in that loop's C frame.
template <class Memory, class Visitor>
FramesEnd visit_shimmed(const PythonRuntime& python, Memory& memory, std::uintptr_t frame, Visitor& visitor) noexcept {
  const PythonLayout& at = python.layout;
  typename Memory::Block fields, about;
  if (at.minor == 12) {  // through a record on the C stack, whose first field it is
    if (!is_plausible(frame) || !memory.open(frame, sizeof(frame), fields)) return FramesEnd::kBroken;
    frame = fields.pointer(0);
  }
  for (int i = 0; frame != 0; ++i) {
    if (i == kMaxVisitedFrames) return FramesEnd::kTooDeep;
    if (!is_plausible(frame) || !memory.open_frame(frame, frame_bytes(at), fields)) return FramesEnd::kBroken;
    const std::uint8_t owner = fields.template get<std::uint8_t>(at.frame_owner);
    if (owner >= python_object::kOwnedByC) {
      visitor.entry(frame);
    } else {
      // 3.14 keeps flags in the low bits; 3.13 and later run things that are no code objects.
      const std::uintptr_t code = fields.pointer(at.frame_code) & ~std::uintptr_t{7};
      std::int64_t offset = 0;
      if (open_code(python, memory, code, about) &&
          has_begun(at, fields.pointer(at.frame_position), owner, code, about, offset) &&
          !visitor.frame(code, about, offset)) {
        return FramesEnd::kStopped;
      }
    }
    frame = fields.pointer(at.frame_previous);
  }
  return FramesEnd::kRoot;
}

// `top`: what the thread state points to (PythonLayout::thread_frame).
template <class Memory, class Visitor>
FramesEnd visit_frames(const PythonRuntime& python, Memory& memory, std::uintptr_t top, Visitor& visitor) noexcept {
  switch (python.layout.frame_kind) {
    case PythonFrameKind::kObjects: return visit_objects(python, memory, top, visitor);
    case PythonFrameKind::kEntryFlag: return visit_flagged(python, memory, top, visitor);
    case PythonFrameKind::kShimFrames: return visit_shimmed(python, memory, top, visitor);
  }
  return FramesEnd::kBroken;
}

}  // namespace synctrace::capture
