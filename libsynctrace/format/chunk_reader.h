// SPDX-License-Identifier: Apache-2.0
// Bytes -> verified chunks: finds chunk headers, checks both checksums, decompresses, and after damage looks for the
// next intact chunk. Knows nothing of records. Reads the file piece by piece and never maps it: a trace may be cut
// short while it is read. Memory is bounded by two chunks. Single-threaded; moved, never copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/trace_format.h"

namespace synctrace::format {

// What could not be read. All zero for an intact trace.
struct Damage {
  std::uint64_t skipped_bytes = 0;   // bytes that belong to no intact chunk
  std::uint64_t bad_chunks = 0;      // chunks whose header was fine and whose payload was not
  std::uint64_t missing_chunks = 0;  // holes in the sequence numbers
  std::uint64_t bad_records = 0;  // records without a schema, or that do not fit it: then the chunk's rest is skipped
  std::uint64_t unknown_records = 0;  // kinds that this version has no struct for (readable through RecordView)
  bool truncated = false;             // the file ends inside a chunk, or could not be read to its end

  bool none() const noexcept {
    return skipped_bytes == 0 && bad_chunks == 0 && missing_chunks == 0 && bad_records == 0 && !truncated;
  }
};

// One chunk as it is in the file, and its records. The spans are valid until the reader moves on.
struct Chunk {
  ChunkHeader header;
  std::span<const std::byte> stored;
  std::span<const std::byte> payload;  // decompressed; the same bytes as `stored` for Codec::kRaw
};

class ChunkReader {
 public:
  // Fails when there is no such file, it is not a regular file or not a trace, or its major version is not ours; the
  // message names the path. A file header that fails its checksum is damage, not failure: its fields read as zero.
  static Result<ChunkReader> open(const std::string& path);
  // `name` stands for the path in messages.
  static Result<ChunkReader> from_bytes(std::vector<std::byte> bytes, const std::string& name);

  ChunkReader(ChunkReader&&) noexcept;
  ChunkReader& operator=(ChunkReader&&) noexcept;
  ~ChunkReader();

  const FileHeader& header() const noexcept;

  // Moves to the next intact chunk; false at the end.
  [[nodiscard]] bool next(Chunk& chunk);

  // When it was opened.
  std::uint64_t file_bytes() const noexcept;

  // How much of the file has been read, more than 0 and at most 1; about, while somebody writes to it.
  double share_read() const noexcept;

  // Final once next() has returned false. The record counters are the caller's to fill.
  Damage& damage() noexcept;
  const Damage& damage() const noexcept;

 private:
  struct State;
  explicit ChunkReader(std::unique_ptr<State> state) noexcept;
  static Result<ChunkReader> start(std::unique_ptr<State> state, const std::string& name);
  std::unique_ptr<State> state_;
};

}  // namespace synctrace::format
