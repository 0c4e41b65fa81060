// SPDX-License-Identifier: Apache-2.0
// Records -> finished chunks in memory, as many as it takes. For the offline half, which may allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "format/trace_writer.h"

namespace synctrace::format {

class RecordBuffer {
 public:
  // `first_sequence` is the number of the first chunk.
  explicit RecordBuffer(std::uint64_t first_sequence = 0) : room_(kRoomBytes), writer_(room_, first_sequence) {}
  RecordBuffer(const RecordBuffer&) = delete;
  RecordBuffer& operator=(const RecordBuffer&) = delete;

  // The record's texts are copied; those longer than kMaxTextBytes are cut.
  template <class Record>
  void add(const Record& record) {
    if (writer_.add(record)) return;
    end_chunk();
    if (!writer_.add(record)) throw std::length_error("a record is larger than a chunk");
  }

  // All chunks so far, without a file header. The buffer is empty then.
  std::vector<std::byte> take() {
    end_chunk();
    return std::exchange(chunks_, {});
  }

 private:
  static constexpr std::size_t kRoomBytes = 256U << 10;  // so chunks have the size of recorded ones

  void end_chunk() {
    const auto chunk = writer_.finish();
    chunks_.insert(chunks_.end(), chunk.begin(), chunk.end());
  }

  std::vector<std::byte> room_;
  ChunkWriter writer_;
  std::vector<std::byte> chunks_;
};

}  // namespace synctrace::format
