// SPDX-License-Identifier: Apache-2.0
// One ELF file as it is mapped into this process: where its code, its unwind information and its symbols lie. Read from
// its headers in memory through the kernel: it may be unmapped meanwhile, and may be anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/unwind/process_maps.h"

namespace synctrace::capture {

struct ModuleSegment {
  std::uintptr_t begin = 0;  // addresses [begin, end)
  std::uintptr_t end = 0;
  std::uint64_t file_offset = 0;  // where `begin` is in the file
};

struct ModuleImage {
  static constexpr std::size_t kMaxSegments = 4;  // executable ones; linkers make one, seldom two
  static constexpr std::size_t kMaxBuildId = 32;

  const char* path = "";
  std::array<std::byte, kMaxBuildId> build_id_bytes{};
  std::uint8_t build_id_size = 0;  // 0: the file has none
  std::uint8_t code_segment_count = 0;
  std::uintptr_t bias = 0;   // address = ELF virtual address + bias
  std::uintptr_t begin = 0;  // where the lowest segment begins
  std::uintptr_t end = 0;    // where the highest ends
  std::array<ModuleSegment, kMaxSegments> code_segments{};
  std::uintptr_t eh_frame_header = 0;  // 0: none
  std::size_t eh_frame_header_bytes = 0;
  std::uintptr_t frame_data_begin = 0;  // the segment that holds .eh_frame_hdr, and as linkers do it, .eh_frame
  std::uintptr_t frame_data_end = 0;
  std::uintptr_t dynamic_section = 0;  // 0: none
  std::size_t dynamic_section_bytes = 0;
  // The loader is done with it, so that its functions may be called. Changes once, and is the background thread's.
  mutable bool is_relocated = false;
  std::uint64_t fingerprint = 0;  // a hash of the start of .eh_frame_hdr: tells a rebuilt file without a build-id

  std::span<const std::byte> build_id() const noexcept { return {build_id_bytes.data(), build_id_size}; }
  std::span<const ModuleSegment> code() const noexcept { return {code_segments.data(), code_segment_count}; }
};

// The module whose file begins at `first`. `image.path` stays empty. False where no such file is mapped with its code:
// it is mapped as data, or the loader is still at it.
bool read_module_image(const ProcessMaps& maps, const MappedPiece& first, ModuleImage& image) noexcept;

// What ModuleImage::fingerprint is made of.
std::uint64_t frame_header_fingerprint(std::span<const std::byte> header) noexcept;

}  // namespace synctrace::capture
