// SPDX-License-Identifier: Apache-2.0
// Builds traces in memory with the recorder's own writer, and shows what a reader makes of them.
//
//   TraceBuilder trace;
//   trace.schemas().add(Fact{"rank", "0"}).end_chunk().add(End{12, 1, "exit"});
//   load(trace.bytes());
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/trace_reader.h"
#include "format/trace_text.h"
#include "format/trace_writer.h"

namespace synctrace::testing {

using Bytes = std::vector<std::byte>;

inline void append(Bytes& target, std::span<const std::byte> more) {
  target.insert(target.end(), more.begin(), more.end());
}

class TraceBuilder {
 public:
  static constexpr std::uint64_t kStartRealtimeNs = 1'700'000'000'000'000'000;
  static constexpr std::uint32_t kProcessId = 42;

  explicit TraceBuilder(std::size_t chunk_bytes = 256U << 10)
      : buffer_(std::max(chunk_bytes, format::ChunkWriter::kMinBufferBytes)), writer_(buffer_) {
    const format::FileHeader header = format::make_file_header(kStartRealtimeNs, kProcessId);
    append(bytes_, std::as_bytes(std::span(&header, 1)));
  }

  // A chunk that is full is ended, and the record begins the next one.
  template <class Record>
  TraceBuilder& add(const Record& record) {
    if (writer_.add(record)) return *this;
    end_chunk();
    if (!writer_.add(record)) throw std::length_error("the record does not fit an empty chunk");
    return *this;
  }

  TraceBuilder& schemas() {
    format::for_each_schema([this](const format::Schema& schema) { add(schema); });
    return *this;
  }

  TraceBuilder& end_chunk() {
    append(bytes_, writer_.finish());
    return *this;
  }

  // The trace so far, its last chunk ended.
  const Bytes& bytes() {
    end_chunk();
    return bytes_;
  }

 private:
  Bytes bytes_;
  Bytes buffer_;
  format::ChunkWriter writer_;
};

// A trace of any bytes as payloads: what no honest writer would produce. `payload` becomes chunk `sequence`.
inline Bytes chunk_of(std::span<const std::byte> payload, std::uint64_t sequence) {
  const format::ChunkHeader header =
      format::make_chunk_header(payload, static_cast<std::uint32_t>(payload.size()), format::Codec::kRaw, sequence);
  Bytes bytes;
  append(bytes, std::as_bytes(std::span(&header, 1)));
  append(bytes, payload);
  return bytes;
}

inline Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

inline Bytes file_header_bytes() { return TraceBuilder().bytes(); }

// All that a reader makes of a trace. A record is its line of the text form.
struct Loaded {
  std::string error;  // why the trace could not be opened; then the rest is empty
  std::string text;
  std::vector<std::string> records;
  format::Damage damage;
};

inline Loaded load(Result<format::TraceReader> reader) {
  Loaded loaded;
  if (!reader) {
    loaded.error = reader.error().message;
    return loaded;
  }
  format::write_text(reader.value(), [&](std::string_view piece) { loaded.text += piece; });
  loaded.damage = reader.value().damage();
  std::string_view rest = loaded.text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const bool is_record = line.substr(0, 5) != "chunk" && line.substr(0, 14) != "synctrace-text" && line[0] != '#';
    if (is_record) loaded.records.emplace_back(line);
  }
  return loaded;
}

inline Loaded load(Bytes bytes) { return load(format::TraceReader::from_bytes(std::move(bytes), "test")); }

}  // namespace synctrace::testing
