// SPDX-License-Identifier: Apache-2.0
// From the offset of an instruction to its lines and columns in the source, by the line table of its code object as
// CPython 3.8 to 3.14 keeps it. Total on any bytes: a table that ends early or makes no sense leads to an unknown line,
// never to a read outside of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace synctrace {

enum class LineTableFormat : std::uint8_t {
  kUnknown,
  kSteps,      // 3.8, 3.9: pairs of a byte step and a signed line step
  kRanges,     // 3.10: pairs of a length in bytes and a signed line step; some ranges have no line
  kLocations,  // 3.11 and later: ranges with end lines and columns
};

// The format that an interpreter of this PY_VERSION_HEX writes.
LineTableFormat line_table_format(std::uint32_t python_version) noexcept;

struct SourceRange {
  static constexpr std::int32_t kUnknown = -1;

  std::int32_t line = kUnknown;  // 1-based; unknown: the instruction belongs to no line
  std::int32_t end_line = kUnknown;
  std::int32_t column = kUnknown;      // 0-based, in bytes of the line as UTF-8
  std::int32_t end_column = kUnknown;  // one past the last byte

  bool operator==(const SourceRange&) const = default;
};

// The lines and columns of the instruction at `offset_bytes`; a negative offset, of a function that has not begun, is
// at its first line.
SourceRange find_range(LineTableFormat format, std::span<const std::byte> table, std::int32_t first_line,
                       std::int32_t offset_bytes) noexcept;

// The lowest line of any instruction behind the one at `offset_bytes`; unknown where there is none, and before 3.11.
// From 3.12 on a loop ends with a jump that is at the line at which the loop begins. So may be the returns at a
// function's end, which are at the line of an `if`: `but_last` leaves out what handles exceptions, and the last
// instructions that each have a place of their own. With these goes the end of a loop that nothing follows.
std::int32_t lowest_line_behind(LineTableFormat format, std::span<const std::byte> table, std::int32_t first_line,
                                std::int32_t offset_bytes, bool but_last = false) noexcept;

}  // namespace synctrace
