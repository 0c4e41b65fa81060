// SPDX-License-Identifier: Apache-2.0
// The mutator of targets that read traces, in libFuzzer's builds: it repairs checksums, without which nearly every
// input would end at the first one. Included by one file of a target.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "format/trace_writer.h"

#if defined(SYNCTRACE_FUZZING)
namespace synctrace::fuzz {

using namespace format;

inline void seal(std::uint8_t* bytes, std::size_t crc_offset) {
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(bytes, crc_offset)));
  std::memcpy(bytes + crc_offset, &crc, sizeof(crc));
}

// Makes the checksums of the file header and of every chunk header right, so that what is behind them is tested.
inline void repair(std::span<std::uint8_t> file) {
  if (file.size() >= sizeof(FileHeader)) seal(file.data(), offsetof(FileHeader, crc));
  for (std::size_t at = sizeof(FileHeader); at + sizeof(ChunkHeader) <= file.size();) {
    ChunkHeader header;
    std::memcpy(&header, &file[at], sizeof(header));
    if (header.magic != kChunkMagic) {
      ++at;
      continue;
    }
    const std::size_t available = file.size() - at - sizeof(header);
    header.stored_bytes = static_cast<std::uint32_t>(std::min<std::size_t>(header.stored_bytes, available));
    if (header.codec == Codec::kRaw) header.raw_bytes = header.stored_bytes;
    header.payload_crc = crc32c(std::as_bytes(file.subspan(at + sizeof(header), header.stored_bytes)));
    std::memcpy(&file[at], &header, sizeof(header));
    seal(&file[at], offsetof(ChunkHeader, header_crc));
    at += sizeof(header) + header.stored_bytes;
  }
}

}  // namespace synctrace::fuzz

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 != 0) synctrace::fuzz::repair({data, size});
  return size;
}
#endif
