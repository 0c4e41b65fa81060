// SPDX-License-Identifier: Apache-2.0
#include "format/trace_reader.h"

#include <utility>

#include "format/record_decoder.h"

namespace synctrace::format {

struct TraceReader::State {
  explicit State(ChunkReader input) noexcept : chunks(std::move(input)) {}

  ChunkReader chunks;
  RecordDecoder decoder;
  std::uint64_t sequence = 0;
};

Result<TraceReader> TraceReader::open(const std::string& path) {
  Result<ChunkReader> chunks = ChunkReader::open(path);
  if (!chunks) return chunks.error();
  return TraceReader(std::make_unique<State>(std::move(chunks).value()));
}

Result<TraceReader> TraceReader::from_bytes(std::vector<std::byte> bytes, const std::string& name) {
  Result<ChunkReader> chunks = ChunkReader::from_bytes(std::move(bytes), name);
  if (!chunks) return chunks.error();
  return TraceReader(std::make_unique<State>(std::move(chunks).value()));
}

TraceReader::TraceReader(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;
TraceReader::~TraceReader() = default;

const FileHeader& TraceReader::header() const noexcept { return state_->chunks.header(); }
std::uint64_t TraceReader::chunk_sequence() const noexcept { return state_->sequence; }
const Damage& TraceReader::damage() const noexcept { return state_->chunks.damage(); }

Damage& TraceReader::damage_of_chunks() noexcept { return state_->chunks.damage(); }

RecordDecoder* TraceReader::next_chunk() {
  Chunk chunk;
  if (!state_->chunks.next(chunk)) return nullptr;
  state_->decoder.begin_chunk(chunk.payload);
  state_->sequence = chunk.header.sequence;
  return &state_->decoder;
}

bool TraceReader::next(RecordView& record) {
  while (!state_->decoder.next(record, state_->chunks.damage())) {
    if (next_chunk() == nullptr) return false;
  }
  return true;
}

}  // namespace synctrace::format
