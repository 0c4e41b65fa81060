// SPDX-License-Identifier: Apache-2.0
// The trace as the drain thread writes it: records into chunks, chunks into the file, and each text and launch shape
// defined right before its first use. One thread at a time: the starting thread, then the drain thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "capture/events/file_sink.h"
#include "capture/process/intern_table.h"
#include "format/trace_writer.h"

namespace synctrace::capture {

class TraceStream {
 public:
  // Makes the file; tells the user where that fails.
  using Opener = bool (*)() noexcept;

  // Without an opener the sink is open already.
  explicit TraceStream(FileSink& sink, Opener opener = nullptr) noexcept;

  // The file header and the schemas.
  void begin(std::uint32_t process_id) noexcept;

  // There is something to tell: the file is made with the next chunk. Until then, and for good in a process that never
  // uses a GPU, as launchers of others do, the first chunk waits in memory. One that is full does not wait.
  void want_file() noexcept { is_wanted_ = true; }
  bool is_wanted() const noexcept { return is_wanted_; }
  bool has_file() const noexcept { return sink_.written_bytes() != 0; }
  // Whether the chunk that waits may take what is of use only with what may come.
  bool has_room_to_wait() const noexcept { return is_wanted_ || writer_.payload_bytes() < kBufferBytes / 2; }

  template <class Record>
  void add(const Record& record) noexcept {
    if (writer_.add(record)) [[likely]]
      return;
    want_file();
    flush();
    [[maybe_unused]] const bool added = writer_.add(record);  // an empty chunk has room for any record
  }

  // Id of a text; 0 for the empty one.
  StringId string_id(std::string_view text) noexcept;

  // Id of a launch configuration; `shape.id` is ignored.
  ShapeId shape_id(const format::LaunchShape& shape) noexcept;

  // The file never grows beyond `bytes` (0: no limit): the first chunk that does not fit and
  // all behind it are lost and counted.
  void set_limit(std::uint64_t bytes) noexcept { limit_bytes_ = bytes; }

  // Adds `count` to the loss `name`; nothing for a zero count. Names are listed in docs/trace-format.md.
  void add_loss(std::string_view name, std::uint64_t count) noexcept;

  // Hands the chunk under way to the file. A trouble with the file is told once (one notice); from then on records are
  // counted and thrown away.
  void flush() noexcept;

  // The End record, the last chunk, the final name.
  void end(std::string_view reason) noexcept;

  // Behind end(): gives back what the process would keep.
  void release() noexcept {
    strings_.release();
    shapes_.release();
  }

  bool failed() const noexcept { return failed_; }
  std::uint64_t refused_names() const noexcept { return strings_.refused_count() + shapes_.refused_count(); }
  std::uint64_t written_bytes() const noexcept { return sink_.written_bytes() + writer_.payload_bytes(); }

 private:
  static constexpr std::size_t kBufferBytes = 256U << 10;  // one chunk: large enough to compress well, small to lose

  void report_failure() noexcept;
  bool ensure_file() noexcept;

  FileSink& sink_;
  const Opener opener_;
  format::FileHeader header_{};
  bool is_wanted_ = false;
  // Room that a full trace keeps for the losses and the End record.
  static constexpr std::uint64_t kReserveBytes = 4096;

  bool failed_ = false;
  std::uint64_t limit_bytes_ = 0;
  std::uint64_t over_limit_records_ = 0;
  std::int64_t over_limit_since_ns_ = 0;
  std::int64_t last_flush_ns_ = 0;
  std::uint64_t flushed_records_ = 0;
  std::uint64_t lost_records_ = 0;
  InternTable strings_;
  InternTable shapes_;
  std::array<std::byte, kBufferBytes> buffer_{};
  format::ChunkWriter writer_;
};

}  // namespace synctrace::capture
