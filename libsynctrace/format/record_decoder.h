// SPDX-License-Identifier: Apache-2.0
// The payload of one chunk -> records. Allocates only when a schema record is met. Single-threaded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "format/schema_table.h"
#include "format/trace_reader.h"

namespace synctrace::format {

class RecordDecoder {
 public:
  // Starts on the payload of a chunk, which must stay until the next call.
  void begin_chunk(std::span<const std::byte> payload) noexcept;

  // Moves to the next readable record of the chunk; false at its end. Counts what it passes over.
  [[nodiscard]] bool next(RecordView& record, Damage& damage);

 private:
  bool decode(const SchemaTable::Entry& kind, std::span<const std::byte> body, RecordView& record) noexcept;

  std::span<const std::byte> rest_;
  SchemaTable schemas_;
  std::optional<Schema> declared_;  // by the last record: learnt when the caller is done with the record's old layout
  std::array<std::array<std::uint64_t, kMaxFields>, kMaxKinds> previous_{};  // of each delta field, in this chunk
};

}  // namespace synctrace::format
