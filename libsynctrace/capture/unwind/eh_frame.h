// SPDX-License-Identifier: Apache-2.0
// The entries of .eh_frame and .eh_frame_hdr: which function has which call frame instructions (cfi_rows.h runs them).
// The input is memory that somebody else's file was loaded into: every read is bounded, every loop ends, nothing in it
// is trusted. 64-bit little-endian. No allocation, no system call. Any thread; an object is not shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace synctrace::capture {

namespace dwarf {
class DwarfCursor;
}

// Bytes, and the address at which they were (or are) mapped: pointers in them are relative to where they lie.
struct MappedBytes {
  std::span<const std::byte> bytes;
  std::uint64_t address = 0;
};

// .eh_frame_hdr: where .eh_frame is, and a table of all its FDEs.
class EhFrameHeader {
 public:
  // False when it is damaged or of an unknown version. A header without a usable table has fde_count() 0.
  bool parse(const MappedBytes& header) noexcept;

  std::uint64_t eh_frame_address() const noexcept { return eh_frame_address_; }
  std::uint64_t fde_count() const noexcept { return fde_count_; }
  std::uint64_t fde_address(std::uint64_t index) const noexcept;  // index < fde_count()

 private:
  MappedBytes header_;
  std::uint64_t eh_frame_address_ = 0;
  std::uint64_t fde_count_ = 0;
  std::size_t table_offset_ = 0;
};

// One function's entry, with what its CIE says. Points into the bytes it was read from.
struct Fde {
  std::uint64_t begin = 0;  // pcs [begin, end)
  std::uint64_t end = 0;
  std::span<const std::byte> initial_instructions;
  std::span<const std::byte> instructions;
  std::uint64_t initial_address = 0;  // where initial_instructions lie, for pc-relative operands
  std::uint64_t instructions_address = 0;
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  std::uint64_t return_register = 0;
  std::uint8_t pointer_encoding = 0;
  bool is_signal_frame = false;
  bool has_augmentation = false;
};

class EhFrame {
 public:
  enum class Entry : std::uint8_t { kFde, kEnd, kDamaged };

  explicit EhFrame(const MappedBytes& section) noexcept : section_(section) {}

  // The FDE at an address of the section.
  Entry fde_at(std::uint64_t address, Fde& fde) const noexcept;

  // The next FDE in the section's order. After kDamaged the entry is skipped; kEnd repeats.
  Entry next(Fde& fde) noexcept;

 private:
  struct Extent;
  Extent extent_at(std::size_t offset) const noexcept;
  dwarf::DwarfCursor cursor_over(const Extent& extent) const noexcept;
  bool read_cie(std::size_t offset, Fde& fde) const noexcept;
  Entry read_fde(const Extent& extent, Fde& fde) const noexcept;

  MappedBytes section_;
  std::size_t position_ = 0;
};

}  // namespace synctrace::capture
