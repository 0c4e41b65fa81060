// SPDX-License-Identifier: Apache-2.0
// Where CPython keeps what a stack walk reads: byte offsets per minor version, 64-bit builds with a GIL. They were
// compiled from each version's own headers and then used on real stacks; they hold pointers and fixed-width integers
// only, so they do not depend on the processor. The reader checks them against the running interpreter before use.
#pragma once

#include <cstdint>

namespace synctrace::capture {

// How frames are linked, and what marks the first Python frame of an eval loop.
enum class PythonFrameKind : std::uint8_t {
  kObjects,     // 3.8-3.10: frame objects; every frame has an eval loop of its own, at no known address
  kEntryFlag,   // 3.11: a flag in the frame; the address is that of the loop's C-frame record
  kShimFrames,  // 3.12+: a shim frame on the eval loop's C stack ends the loop's Python frames
};

// 0 in an optional field: the version has no such thing.
struct PythonLayout {
  std::uint8_t minor;
  PythonFrameKind frame_kind;
  std::uint8_t position_scale;  // bytes of bytecode per unit of an integer position; 0: the position is a pointer
  std::uint16_t thread_frame;   // thread state -> top frame, or -> C-frame record when record_frame is used
  std::uint16_t thread_id;      // thread state -> pthread_t
  std::uint16_t frame_previous;
  std::uint16_t frame_code;
  std::uint16_t frame_position;
  std::uint16_t frame_owner;  // optional
  std::uint16_t code_first_line;
  std::uint16_t code_file;
  std::uint16_t code_name;  // qualified from 3.11 on
  std::uint16_t code_line_table;
  std::uint16_t code_traceable;  // optional: int, code units before which a frame is not complete
  std::uint16_t code_bytecode;   // 3.8-3.10: pointer to a bytes object; later: the bytecode itself
  std::uint16_t code_version;    // optional: a number that no other living or dead code object has
  std::uint16_t ascii_header;    // bytes before the characters of a compact ASCII str
  std::uint16_t unicode_header;  // the same of another compact str
  std::uint16_t collecting;      // optional: interpreter -> int, whether the garbage collector runs
};

inline constexpr PythonLayout kPythonLayouts[] = {
    {8, PythonFrameKind::kObjects, 1, 24, 176, 24, 32, 104, 0, 40, 104, 112, 120, 0, 48, 0, 48, 72, 0},
    {9, PythonFrameKind::kObjects, 1, 24, 176, 24, 32, 104, 0, 40, 104, 112, 120, 0, 48, 0, 48, 72, 816},
    {10, PythonFrameKind::kObjects, 2, 24, 176, 24, 32, 96, 0, 40, 104, 112, 120, 0, 48, 0, 48, 72, 816},
    {11, PythonFrameKind::kEntryFlag, 0, 56, 152, 48, 32, 56, 69, 72, 112, 128, 136, 168, 184, 0, 48, 72, 848},
    {12, PythonFrameKind::kShimFrames, 0, 56, 136, 8, 0, 56, 70, 68, 112, 128, 136, 176, 192, 92, 40, 56, 312},
    {13, PythonFrameKind::kShimFrames, 0, 72, 152, 8, 0, 56, 70, 68, 112, 128, 136, 184, 200, 92, 40, 56, 7600},
    {14, PythonFrameKind::kShimFrames, 0, 72, 152, 8, 0, 56, 74, 68, 112, 128, 136, 192, 208, 92, 40, 56, 0},
};

// The same in every version above.
namespace python_object {
inline constexpr std::uint16_t kType = 8;
inline constexpr std::uint16_t kSize = 16;      // bytes of a bytes object, characters of a str, units of 3.11+ code
inline constexpr std::uint16_t kStrState = 32;  // kind: bits 2-4, compact: bit 5, ASCII: bit 6
inline constexpr std::uint16_t kBytesData = 32;
inline constexpr std::uint16_t kEntryFlag311 = 68;       // in a frame
inline constexpr std::uint16_t kRecordFrame311 = 8;      // C-frame record -> its innermost frame
inline constexpr std::uint16_t kRecordPrevious311 = 16;  // C-frame record -> the one outside
inline constexpr std::uint16_t kRecordPrevious312 = 8;
inline constexpr std::uint16_t kNextThreadState = 8;  // thread state -> the next older one of its interpreter
inline constexpr std::uint8_t kOwnedByGenerator = 1;
inline constexpr std::uint8_t kOwnedByC = 3;  // this and above: a shim (the numbers above 3 differ between versions)
}  // namespace python_object

// Version 3.13 and later describe themselves at the start of _PyRuntime: a cookie, the version and whether the build
// is free-threaded, each 8 bytes, and then offsets; in words, where 3.13 has those that the table above repeats.
namespace python_debug_offsets {
inline constexpr char kCookie[] = "xdebugpy";
inline constexpr int kFreeThreaded = 2;
inline constexpr int kThreadFrame313 = 23;
inline constexpr int kThreadId313 = 24;
inline constexpr int kFramePrevious313 = 29;
inline constexpr int kFrameCode313 = 30;
inline constexpr int kFramePosition313 = 31;
inline constexpr int kFrameOwner313 = 33;
inline constexpr int kCodeFile313 = 35;
inline constexpr int kCodeName313 = 37;
inline constexpr int kCodeLineTable313 = 38;
inline constexpr int kCodeFirstLine313 = 39;
inline constexpr int kCodeBytecode313 = 43;
}  // namespace python_debug_offsets

}  // namespace synctrace::capture
