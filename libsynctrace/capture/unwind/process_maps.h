// SPDX-License-Identifier: Apache-2.0
// What the kernel has mapped into this process, from /proc/self/maps. The loader is not asked: dl_iterate_phdr kills a
// program that is inside dlopen on another thread (glibc 2.28 to 2.41, docs/decisions/0035), and waits for its locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "capture/process/mapped_array.h"

namespace synctrace::capture {

// One mapping of a file or of code. 64 bytes, for MappedArray.
struct alignas(64) MappedPiece {
  std::uintptr_t begin = 0;  // addresses [begin, end)
  std::uintptr_t end = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // 0: no file
  std::uint32_t path_at = 0;
  std::uint32_t path_bytes = 0;
  bool is_code = false;
  bool is_writable = false;
};

class ProcessMaps {
 public:
  // False where they cannot be read whole: no /proc, no memory, more than 32 MiB of text. Once, on one thread.
  bool read() noexcept;

  // Sorted by address; anonymous data is left out.
  const MappedArray<MappedPiece>& pieces() const noexcept { return pieces_; }

  // The path as the kernel writes it: a newline is "\012", a file that has gone ends in " (deleted)".
  std::string_view path(const MappedPiece& piece) const noexcept {
    return {text_.data() + piece.path_at, piece.path_bytes};
  }

  // Null where nothing of the above is mapped.
  const MappedPiece* at(std::uintptr_t address) const noexcept;

  bool same_file(const MappedPiece& a, const MappedPiece& b) const noexcept {
    return a.inode == b.inode && a.device == b.device && path(a) == path(b);
  }

 private:
  bool read_text() noexcept;
  bool take_line(std::string_view line) noexcept;

  MappedArray<char> text_;
  MappedArray<MappedPiece> pieces_;
};

// How much code is mapped, in KiB; 0 where the kernel does not say. Some 20 us where reading all mappings of a training
// program takes milliseconds. A library that comes or goes changes it, unless another of its size goes or comes.
std::uint64_t mapped_code_kib() noexcept;

}  // namespace synctrace::capture
