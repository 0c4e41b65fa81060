// SPDX-License-Identifier: Apache-2.0
// A module's call frame information as one sorted table from pc to rule, so that a walk needs a binary search where
// .eh_frame would need an interpreter. Six bytes a row: the pc, and the number of one of the module's few distinct
// rules; and four for each 4 KiB of code, which say where in the table to search: what is searched is megabytes, and
// rarely in the caches. Built by a background thread into mapped memory, read-only from then on, never freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/unwind/cfi_rows.h"
#include "capture/unwind/module_map.h"

namespace synctrace::capture {

class UnwindTable {
 public:
  struct Counts {
    std::uint64_t functions = 0;
    std::uint64_t damaged_functions = 0;  // entries that could not be read, or that lie outside the module's code
    std::uint64_t unsupported_rows = 0;   // rows that were read, but have a rule that is not supported
    std::uint64_t rows = 0;
    std::uint64_t rules = 0;
    std::uint64_t bytes = 0;  // mapped
  };

  // What build() reads. A module without .eh_frame_hdr has an empty header; its .eh_frame is then read in order.
  struct Source {
    MappedBytes header;
    MappedBytes eh_frame;
    std::uintptr_t base = 0;  // the module's lowest address
    std::span<const ModuleSegment> code;
    Machine machine = kThisMachine;
  };

  // Null when there is no memory. Takes some 50 ns a row. Any thread; no allocation but by mmap.
  static const UnwindTable* build(const Source& source) noexcept;

  // For tables that no module has: what build() made is otherwise kept for good.
  static void destroy(const UnwindTable* table) noexcept;

  // kNoRule where the module has no frame information. Wait-free, any thread, also in a signal handler.
  const UnwindRule& find(std::uintptr_t pc) const noexcept;

  const Counts& counts() const noexcept { return counts_; }

 private:
  class Builder;

  std::uintptr_t base_ = 0;
  std::uint32_t row_count_ = 0;
  std::uint32_t page_count_ = 0;
  const std::uint32_t* pcs_ = nullptr;  // ascending, relative to base_; a row reaches to the next one's pc
  const std::uint32_t* first_of_page_ =
      nullptr;  // the last row at or before a page's first byte; the last page is behind all rows
  const std::uint16_t* rule_numbers_ = nullptr;
  const UnwindRule* rules_ = nullptr;
  Counts counts_;
};

// Builds the tables of all loaded modules that have none. Reads their memory through the kernel, so that a module that
// is unloaded meanwhile is an error, not a fault. Background thread, after ModuleMap::refresh(); returns how many.
std::size_t build_missing_tables(const ModuleMap& modules) noexcept;

}  // namespace synctrace::capture
