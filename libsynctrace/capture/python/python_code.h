// SPDX-License-Identifier: Apache-2.0
// What a code object says about itself, copied once, the first time that it is seen on a stack: file, function, first
// line and the line table as it is (names/python_lines decodes it offline). No allocation, no Python API: a few
// hundred nanoseconds, more only for long line tables. Call it on the thread that walked, before the C call that it is
// in returns: only then the code object is sure to be alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "capture/process/guarded_memory.h"
#include "capture/python/python_runtime.h"

namespace synctrace::capture {

struct CodeDescription {
  // A path or a qualified name that is longer is cut, between characters.
  static constexpr std::size_t kMaxFileBytes = 4096;
  static constexpr std::size_t kMaxFunctionBytes = 1024;
  static constexpr std::size_t kMaxLineTableBytes = 65536;  // 37 kB is the longest one known
  // Room in which every description fits.
  static constexpr std::size_t kMaxBytes = kMaxFileBytes + kMaxFunctionBytes + kMaxLineTableBytes;

  std::string_view file;      // UTF-8, in the caller's room, as all below
  std::string_view function;  // qualified from 3.11 on, else the bare name
  std::span<const std::byte> line_table;
  std::int32_t first_line = 0;
  std::uint32_t python_version = 0;  // PY_VERSION_HEX: tells the line table's format
  bool is_line_table_cut = false;    // longer than kMaxLineTableBytes: lines of the rest are unknown
};

enum class DescribeStatus {
  kOk,
  kStale,   // not the code object that was meant; nothing was copied
  kNoRoom,  // `room` is too small; kMaxBytes always suffice
};

// Describes the code object of a PythonFrame. Bytes that Python could not decode in a file name (surrogates) become
// U+FFFD.
[[nodiscard]] DescribeStatus describe_code(const PythonRuntime& python, std::uintptr_t code, std::uint64_t identity,
                                           std::span<std::byte> room, CodeDescription& out) noexcept;

// The same in a signal handler on that thread; also kStale when something cannot be read.
[[nodiscard]] DescribeStatus describe_interrupted_code(const PythonRuntime& python, GuardedMemory& memory,
                                                       std::uintptr_t code, std::uint64_t identity,
                                                       std::span<std::byte> room, CodeDescription& out) noexcept;

}  // namespace synctrace::capture
